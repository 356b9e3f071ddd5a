"""A new thing, kept to oneself, is dull; shared, it is the best in the world."""

from groundup.data.toy_stories.grammar import read_blocks, read_story, read_table
from groundup.data.toy_stories.plot import Skeleton

TOYS = read_blocks("""
thing: sledge
worlds: snow, hill
ask: May I have a ride
alone: Going down was splendid. But pulling the sledge up again, all alone, was slow and dull.
together: {Friend} pushed and {hero} pulled, so they were at the top in no time. Then they shot down together,
  shouting all the way.

thing: swing
worlds: farm, wood, village, hill, river
ask: May I have a turn
alone: But nobody was there to push. The swing only hung and creaked, and {hero} only sat.
together: {Friend} pushed until {hero}'s feet touched the leaves. Then they changed places, again and again.

thing: seesaw
worlds: farm, village, wood, river, sea
ask: May I sit on the other end
alone: {He} sat down on one end, and the other end went up. Then nothing else happened, for a very long time.
together: Up went {friend}, down went {hero}, and up and down again, until the whole world seemed to rock.

thing: rowing boat
worlds: river, sea
ask: May I come along
alone: {He} could hold only one oar at a time, so the boat went round and round, like a spoon in a cup.
together: {Hero} took the left oar and {friend} took the right one. Now the boat went straight ahead, all the
  way to the bend and back.

thing: football
ask: May I play too
alone: {He} kicked it and had to fetch it. {He} kicked it again and had to fetch it again.
together: {Hero} kicked it to {friend}, and {friend} kicked it back. Once it flew right over the roof, and
  that was the best kick of all.

thing: skipping rope
ask: May I skip with you
alone: {He} tied one end to the fence and turned the other. But then there was nobody left to jump.
together: First {friend} turned and {hero} jumped, and then {hero} turned and {friend} jumped. The fence held
  the other end and never complained.

thing: picture book
ask: May I look at it with you
alone: {He} looked at all the pictures twice. But when something was funny, there was nobody to laugh with.
together: {Hero} read the words, and {friend} did all the voices. The bear's voice was so deep that the cups
  rattled.

thing: drum
ask: May I have a go
alone: Boom, went the drum. Boom, it went again. After a while, even {hero} was tired of boom.
together: {Friend} fetched a whistle. Boom, toot, boom, toot, they went, and soon half the neighbours were
  dancing behind them.

thing: tent
ask: May I come in
alone: {He} sat in the tent and waited for an adventure. No adventure came.
together: They hung up a lantern, made shadows on the wall and told each other stories about bears until they
  were nicely scared.

thing: box of paints
ask: May I paint something too
alone: {He} painted a house with nobody in it. It looked as lonely as {he} felt.
together: {Friend} painted a huge red sun above the house, and {hero} painted two figures at the window,
  waving.

thing: board game
ask: May I play with you
alone: {He} played against {himself}. {He} won every time, but {he} lost every time as well.
together: They played until the candle had burned down. Sometimes {hero} won and sometimes {friend} did, and
  both of them cheated a little.

thing: toy train
ask: May I be the driver
alone: The train went round and round, but there was nobody at the station to wave to it.
together: {Hero} was the driver and {friend} sold the tickets. All the acorns and pebbles {in_land} went on a
  long journey.

thing: trumpet
ask: May I blow it once
alone: {He} blew it loudly and waited. Nobody said that it was beautiful.
together: {Friend} blew the high notes and {hero} blew the low ones. It was not beautiful, but it was very,
  very loud.
""")


GIVERS = read_table("""
giver    | got
birthday | For {his} birthday {he} got {a_thing}
merchant | A merchant gave {him} {a_thing} for a drink of cold water
prize    | At the fair {he} won {a_thing}
saving   | {He} saved every coin for a year and bought {a_thing}
parcel   | One day a big parcel came from far away, and in it was {a_thing}
attic    | In the dusty attic {he} found {a_thing}
""")

SHARING = Skeleton(
    name="sharing",
    roles=("friend",),
    tables=(TOYS, GIVERS),
    ending=("thing",),
    traits="[proud/lively/stubborn/busy/clever/quick/cheerful]",
    story=read_story("""
* {opening}

* {got}. It was the finest {thing} {in_land}.
* {got}, and {he} was very proud of it.
* {got}. Nobody else had one like it.

* "What a lovely {thing}!" said {a_friend.kind} named {friend}. "{ask}?" "No," said {hero}. "It is mine, all
  mine." {Friend.sad}, and {friend.he} went away.
* {His} friend {friend.titled} came by. "{ask}?" {friend.he} asked. {Hero} shook {his} head. "You would only
  spoil it." So {friend} went home again, and {friend.sad}.
* {A_friend.kind} named {friend} looked at it with big eyes. "{ask}?" "Not today," said {hero}, "and not
  tomorrow either." {Friend} said nothing and went away.
---
* Now {hero} had the {thing} all to {himself}. {alone}
* At last nobody was in the way. {alone}

? "That is strange," thought {hero}. "It was much more fun when I only wished for it."
? {Hero} looked at the {thing}, and the {thing}, if it could look at all, looked back rather sadly.
? "It isn't the {thing} that is wrong," {hero} said to {himself} after a while. "It is me."
? {Hero} sighed. Something was missing, and {he} knew quite well who it was.
---
* {He} ran to {friend}'s door. "I was selfish, and I am sorry," {he} said. "Will you come?" {Friend} thought
  about it for as long as it takes to blink.
* {He} went and found {friend}. "I am sorry," {he} said, looking at {his} feet. "Please come. It is no good
  without you." {Friend} smiled at once.
* So {he} put {his} pride in {his} pocket and knocked at {friend}'s door. "Would you like to come?" {he}
  asked. "I thought you would never ask," said {friend}.

* {together}
---
* "Whose {thing} is that?" somebody asked. "Ours," said {hero}.
* And {hero} had learned something: half of {a_thing}, with a friend, is more than a whole one.
* When it got dark, {hero} looked at {friend} and then at the {thing}. "Tomorrow again?" {he} asked. "Tomorrow
  again," said {friend}.
* That evening {hero} made up {his} mind: the {thing} would always be for two.
* The {thing} was still the same. But now it was the best one in the world.
"""),
)
