"""A secret is entrusted, kept even from the best friend, and at last shared in the right way."""

from groundup.data.toy_stories.grammar import read_blocks, read_story
from groundup.data.toy_stories.plot import Skeleton

SECRETS = read_blocks("""
secret: the blackbird's nest
worlds: wood, farm, village, river
find: In the thickest part of the hedge {he} found a nest with four blue eggs, and on it sat a blackbird.
keeper: the blackbird
reason: If many people come, I shall have to leave my eggs
service: carried away the noisy little stones from the path
reveal: Then four tiny beaks looked over the edge of the nest and all began to shout for breakfast.

secret: the kittens
worlds: farm, village, sea
never: kitten
find: Behind the old sacks in the shed {he} found five newborn kittens, and their mother.
keeper: the mother cat
reason: They are still blind, and noise frightens them
service: brought a saucer of milk
reveal: Then five kittens opened ten blue eyes and came out to see the world.

secret: the caterpillar's plan
worlds: wood, farm, village, river, hill
find: Under a cabbage leaf {he} found a fat caterpillar, wrapping itself up in silk.
keeper: the caterpillar
reason: I am going to be something else, and I want it to be a surprise
service: kept the sparrows away from the leaf
reveal: Then the silk split open, and out came a butterfly with wings like two small sunsets.

secret: the seal pup
worlds: sea, snow
never: seal
find: Behind a rock {he} found a white seal pup, and its mother beside it.
keeper: the mother seal
reason: My little one can't swim yet, and we have to be left in peace
service: smoothed away {his} own footprints
reveal: Then the pup slid into the water, went under, came up again and looked very surprised.

secret: the penguin's egg
worlds: snow
never: penguin
find: On the icy shore {he} met a penguin who did not move at all. On the penguin's feet lay an egg.
keeper: the penguin
reason: I must stand quite still until it hatches, and everybody wants to talk to me
service: built a wall of snow against the wind
reveal: Then there was a crack, and a grey ball of fluff looked up and said, "Peep."

secret: the turtle eggs
worlds: sea, river
never: turtle
find: On the beach {he} saw an old turtle, covering a heap of eggs with sand.
keeper: the turtle
reason: The gulls must not find out where they are
service: drew false tracks in the sand, to confuse the gulls
reveal: Then the sand began to move, and fifty little turtles ran down to the water like wind-up toys.

secret: the tadpoles
worlds: wood, farm, village, river, hill
never: frog
find: Behind the willows {he} found a tiny pond, black with tadpoles, and an old toad on guard.
keeper: the old toad
reason: The ducks would eat them all before they had legs
service: told the ducks that the best worms were on the other side
reveal: Then the tadpoles had legs, and one evening a hundred small frogs gave their first concert.

secret: the dormouse
worlds: wood, hill, farm
never: mouse
find: In a hollow tree {he} found a dormouse, as round as a plum and almost asleep.
keeper: the dormouse
reason: I am going to sleep until spring, and I do not like to be woken by visitors
service: stuffed the cracks with moss, to keep out the cold
reveal: Then it was spring, and the dormouse came out, yawned and asked what there was for breakfast.

secret: the moonflower
find: Behind the rocks {he} found a plant with one fat bud, and beside it sat an old snail.
keeper: the old snail
reason: It blooms only once in seven years, and only if nobody picks it
service: brought the plant a cup of water
reveal: Then, on the night of the full moon, the bud opened, white and wide, and it smelled of honey and
  stars.

secret: the bats
worlds: wood, farm, village, hill
find: Under the roof of an old barn {he} found a row of baby bats, hanging upside down, and their grandmother.
keeper: the old bat
reason: They can't fly yet, and loud voices make them let go
service: closed the barn door very softly
reveal: Then, one warm evening, all the little bats let go at once. They did not fall. They flew.
""")

ASKINGS = read_blocks("""
asking: a bun
tempt: "I will give you my cinnamon bun," {friend} said. It smelled wonderful.

asking: a guess
tempt: "Is it a treasure? Is it a ghost? Is it a treasure with a ghost?" {friend} asked.

asking: a sulk
tempt: "Friends tell each other everything," {friend} said, and {friend.he} would not speak for a whole hour.

asking: a trade
tempt: "I will tell you two secrets for this one," {friend} said.

asking: a bet
tempt: "You have no secret at all," {friend} said. "You are making it up."
""")

SECRET = Skeleton(
    name="secret",
    roles=("friend",),
    tables=(SECRETS, ASKINGS),
    ending=("friend", "keeper"),
    story=read_story("""
* {opening}

* {Day}, {he} discovered something. {find}
* {Day}, {he} made a great discovery. {find}
* {He} had always wanted to have a secret. {Day}, {he} got one. {find}

* "Please don't tell anyone," said {keeper}. "{reason}." {Hero} gave {his} word.
* "Hush!" said {keeper}. "{reason}. Can you keep a secret?" "I can," said {hero}.
---
? Every day {he} went back alone and {service}.
? From then on {he} slipped away every afternoon, and {he} {service}.

* {His} friend {friend.titled} soon noticed something. "Where do you go all the time?" {friend.he} asked. "I
  can't tell you," said {hero}. {tempt}
* But {he} had a friend, {a_friend.kind} named {friend}, who wanted to know everything. {tempt}

* The secret tickled on {hero}'s tongue like pepper. "I gave my word," {he} said. "You shall be the first to
  know."
* {Hero} opened {his} mouth, and then {he} closed it again. "I promised," {he} said. "Later I will tell you
  first of all."
* It was very hard. "If it were your secret," {he} said at last, "I would keep it, too."
---
* {reveal}

* "Now you may tell," said {keeper}, and {hero} told {friend} everything.
* "Thank you for waiting," said {keeper}. "Now you may tell." So {hero} fetched {friend} and showed
  {friend.him} everything.
---
* "I was cross with you," said {friend}. "But now I know that a secret is safe with you."
* "That was worth waiting for," said {friend}. And {hero} felt a little taller than before.
* {Friend} thought about it for a while. "If I ever have a real secret," {friend.he} said, "you will be the
  one I tell it to."
* And what did {keeper} say? That {hero} was the best keeper of secrets {in_land}, and that is no secret at
  all.
"""),
)
