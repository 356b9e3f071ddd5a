"""A noise in the night is a monster until somebody looks."""

from groundup.data.toy_stories.grammar import read_blocks, read_story, read_table
from groundup.data.toy_stories.plot import Skeleton

NOISES = read_blocks("""
sound: tap, tap, tap
worlds: farm, village, wood, river, sea, hill
from: at the window
guess: a wizard with a walking stick
truth: It was a twig of the apple tree, knocking against the glass.
deed: {Hero} tied the twig back with a ribbon.
later: In spring the twig was covered with pink blossoms

sound: scratch, scratch
from: at the back door
worlds: farm, village, sea, wood, river
never: kitten
guess: a dragon sharpening its claws
truth: On the step sat a tiny kitten, soaked to the skin.
deed: {Hero} rubbed the kitten dry and gave it a saucer of milk.
later: The kitten stayed, and it never scratched at that door again, because now the door was always open

sound: drip, drop, drip
worlds: farm, village, wood, river, sea, hill
from: in the kitchen
guess: a water goblin washing its feet
truth: The roof had a hole, and the rain was dripping into the soup pot.
deed: {Hero} put a bucket under the hole and went to look for a hammer.
later: The soup was a little thin the next day, but it tasted of adventure

sound: hoooo, hoooo
from: in the yard
guess: a ghost with a sore throat
truth: The wind was blowing across an empty jug.
deed: {Hero} put a bunch of flowers into the jug.
later: A ghost with flowers in its mouth can't say a word

sound: thump, thump
from: on the roof
worlds: farm, village, wood, river
guess: a giant learning to dance
truth: Ripe apples were falling from the tree onto the roof.
deed: {Hero} gathered a whole basket of apples.
later: The next day there was apple cake for everyone, and the giant was not invited

sound: rattle, clink
from: in the pantry
guess: a robber counting the spoons
truth: It was {hero}'s {elder}, looking for a piece of cheese.
deed: {Hero} cut three pieces, one for each of them.
later: From then on they called every midnight snack a robber's supper

sound: croak, croak
from: in the watering can
worlds: farm, village, wood, river
never: frog
guess: a troll with hiccups
truth: A fat green frog sat in the watering can and could not get out.
deed: {Hero} carried the frog down to the pond.
later: Every evening after that the frog sang a song for them, and it was not even a bad song

sound: snore, snore
from: outside the front door
worlds: farm, village, sea, river, hill
never: puppy
guess: a bear who has come for supper
truth: The shepherd's old dog lay on the mat, fast asleep.
deed: {Hero} covered the dog with a blanket.
later: The old dog came again the next night, and the next, and slept very well

sound: squeak, squeal
from: in the garden
worlds: farm, village, sea, hill, river, wood
guess: a witch's rusty wagon
truth: The garden gate was swinging in the wind.
deed: {Hero} gave the gate three drops of oil.
later: The gate never squeaked again, and they almost missed it

sound: swish, swash
from: behind the house
worlds: farm, village, sea, hill, river
guess: a sea monster brushing its teeth
truth: Two wet sheets were flapping on the washing line.
deed: {Hero} took the sheets down and folded them neatly.
later: In those sheets they slept like kings, and no monster came

sound: crunch, crunch
from: in the snow
worlds: snow, hill
never: reindeer
guess: a snow giant eating icicles
truth: A young deer was nibbling at the bark of the firewood.
deed: {Hero} brought the deer an armful of hay.
later: The deer came back every night until spring
""")


LIGHTS = read_table("""
light               | first
a candle            | The candle trembled a little, or perhaps it was they who trembled.
a lantern           | The lantern threw two huge shadows on the wall, but they were only their own.
an oil lamp         | The lamp smoked and went out, and they had to light it again.
a jar of glow-worms | The glow-worms were asleep and had to be asked twice.
a wooden spoon      | The spoon gave no light at all, but it was good to have something to hold.
""")

NIGHT_NOISE = Skeleton(
    name="night noise",
    roles=("friend", "elder"),
    elders=("grandmother", "aunt", "grandfather", "uncle"),
    tables=(NOISES, LIGHTS),
    ending=("later",),
    story=read_story("""
* {opening}

* One evening {he} and {his} friend {friend.titled} were allowed to sleep at {his} {elder}'s house.
* {His} friend was {a_friend.kind} named {friend}, and one evening they both stayed at {his} {elder}'s house
  for the night.
* Once {he} slept at {his} {elder}'s house with {his} friend {friend}, {a_friend.kind} who talked even when
  asleep.

* They had just put out the light when they heard it: {sound}.
* It was almost midnight when they both woke up. {Sound}, it went {from}.
* The moon was already high when there was a noise. {Sound}!
---
* "What is that?" whispered {friend}. "It must be {guess}," whispered {hero}.
* "It is {guess}!" said {friend}, and disappeared under the blanket. {Hero} was there already.
* "Do you hear that?" asked {hero}. "No," said {friend}, "and I do not want to. I think it is {guess}."

? They held their breath. {Sound}, it went again, {from}.
? There it was once more, {from}: {sound}.

? "We could stay in bed for ever," said {friend}. "But then we would never know," said {hero}.
? "I am not afraid," said {friend}. "Good," said {hero}. "Then you can go first."
? "If we go together," said {hero}, "it is only half as terrible."

* So they took {light} and crept out on tiptoe. {first}
---
* {Hero} counted to three, and they looked. {truth}
* They came closer, and closer still. {truth}
* "Who is there?" called {hero}. Nobody answered, so they looked. {truth}

* First they stared, and then they laughed until they had to sit down. {deed}
* "So that is {guess}!" said {friend}, and they laughed and laughed. {deed}
* {deed} And back in bed they laughed so hard that the pillows shook.
---
* {later}.
* {later}. And of one thing they were sure: most monsters are smaller when you look at them.
* "Next time I will look at once," said {hero}. {later}.
* {later}. "I was never really afraid," said {friend}. "Nor was I," said {hero}.
"""),
)
