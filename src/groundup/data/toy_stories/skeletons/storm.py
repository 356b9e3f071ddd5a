"""A storm is coming, something small is in danger, and two friends hold on to it until the morning."""

from groundup.data.toy_stories.grammar import read_blocks, read_story
from groundup.data.toy_stories.plot import Skeleton

TREASURES = read_blocks("""
treasure: robin's nest
worlds: wood, farm, village, river
danger: It sat in a thin young tree, with three eggs in it.
work: They tied the young tree to the fence, on both sides, so that it could not swing.
hold: Twice the wind tore at the knots, and twice they pulled them tight again.
morning: The robin still sat there, a little ruffled, and under its feathers something went crack, and
  something said peep.

treasure: little blue boat
worlds: sea, river
danger: It lay at the landing stage, held by a single rope.
work: They dragged it up the bank, bit by bit, turned it over and laid stones on top.
hold: They sat under it themselves and listened to the rain drumming on the planks.
morning: The landing stage was gone, but the little blue boat was as dry as a bone.

treasure: young apple tree
worlds: farm, village, hill
danger: It was only a year old and no thicker than a thumb.
work: They drove three stakes into the ground and tied the little tree to them with an old scarf.
hold: All night they took turns and held it with their own arms.
morning: The big old poplar had fallen, but the young apple tree stood there with all its leaves, and one of
  them still had a drop on it.

treasure: hen house
worlds: farm, village
danger: Its roof was loose, and the hens were nervous.
work: They laid heavy stones on the roof and stuffed straw into the cracks.
hold: Inside, {friend} told the hens a fairy tale, and {hero} did the voice of the fox, but a nice fox.
morning: The roof was still on, and in the straw there were eleven eggs, one for every hen and one from pure
  relief.

treasure: beehive
worlds: wood, farm, hill, village
danger: It stood all alone on the slope, where the wind is strongest.
work: They put a fence of branches round it and laid a flat stone on the lid.
hold: The bees hummed inside, and {hero} and {friend} hummed outside, so that nobody had to be afraid.
morning: The bees flew out into the sun, and that summer there was more honey than ever.

treasure: lamp on the pier
worlds: sea
danger: If it went out, the fishing boats would not find the harbour.
work: They carried oil up the ladder and put a pane of glass in front of the flame.
hold: When the wind blew the lamp out, they lit it again, nine times in all.
morning: One boat after another came in, and the fishermen lifted their caps.

treasure: snow cave
worlds: snow
danger: An old arctic fox with a lame paw was living in it.
work: They built a thick wall of snow blocks in front of it, with a door on the quiet side.
hold: The wind howled and licked at the wall, and they patched every hole with fresh snow.
morning: Everything round about had been blown flat, but out of the snow cave came the old fox and wished them
  a good day.

treasure: wooden bridge
worlds: river, wood, hill
danger: When the river rose, it could carry the whole bridge away, and then nobody would get to the other
  side.
work: They tied the bridge to two big trees with the longest rope {in_land}.
hold: All night they pushed away the branches that came down the river, with long poles.
morning: The water went down, and the wooden bridge stood there, muddy and whole.

treasure: haystack
worlds: farm, hill
danger: It was the food for the whole winter, and nothing was holding it down.
work: They threw a net over it and hung stones on the ends.
hold: When one corner flew up, {friend} sat on it, and when another one flew up, {hero} sat on that.
morning: The haystack was a little crooked, and there was a startled mouse on top of it, but it was all there.

treasure: washing of the whole village
worlds: village, river
danger: It hung on one long line, forty shirts and sixty socks.
work: They ran along the line and pulled everything into baskets, pegs and all.
hold: The last shirt flew up with {friend} on one sleeve, and {hero} caught hold of the other one.
morning: Nobody missed anything but one sock, and that one came back by itself, on a crow's head.

treasure: herd of goats
worlds: hill
never: goat
danger: The goats stood on the highest meadow, without a roof.
work: They drove the goats down to the old stone hut and counted them, and there were nineteen. So they went
  back and found number twenty.
hold: All night they leaned against the door, because the wind wanted to come in too.
morning: Twenty goats jumped out into the wet grass and had forgotten all about it.
""")

SIGNS = read_blocks("""
omen: the birds
sign: All at once the birds were silent, and a cloud came up, as black as a stove.

omen: the knee
sign: An old neighbour looked up. "My left knee hurts," the neighbour said. "That means a storm."

omen: the smoke
sign: The smoke from the chimneys crept along the ground, and the sky turned yellow.

omen: the ants
sign: The ants carried their eggs into the house, and far away there was a growl.

omen: the smell
sign: The air smelled of iron and rain, and every leaf stood still and waited.

omen: the spider
sign: The spider in the window took down its web and packed it away.
""")

STORM = Skeleton(
    name="storm",
    roles=("friend",),
    tables=(TREASURES, SIGNS),
    ending=("treasure", "hero"),
    traits="[brave/lively/careful/clever/cheerful/friendly/thoughtful/quick]",
    story=read_story("""
* {opening}

* {Day}, {he} was playing outside with {his} friend {friend.titled}. {sign}
* {His} best friend was {a_friend.kind} named {friend}, and {day} they sat together on the wall. {sign}

* "A storm is coming!" cried {friend}. "We must look after the {treasure}," said {hero}.
* "Quick, home!" cried {friend}. But {hero} had thought of something. "What about the {treasure}?"
* "Everyone is running home," said {hero}, "and nobody is thinking of the {treasure}."

* {danger}
---
* They were not big, but there were two of them. {work}
* They did not lose a minute. {work}

* Then the storm broke. {hold}
* Then it came, with thunder and lightning and rain. {hold}
* The first gust nearly knocked them over. {hold}

? "Are you afraid?" shouted {friend}. "Only half," shouted {hero}, "because you have the other half."
? "Hold on!" shouted {hero}. "I am holding on!" shouted {friend}.
---
* Towards morning the wind grew tired and lay down. {morning}
* And then, all at once, it was quiet. The sun came up. {morning}
---
* "You saved the {treasure}!" said the neighbours, and they wrapped {hero} and {friend} in warm blankets.
* {Hero} and {friend} looked at each other. They were wet and dirty, and they had never been so happy.
* Even today people {in_land} talk about that storm, and about {hero} and {friend}, who thought of the
  {treasure} when nobody else did.
* Whenever {hero} walks past the {treasure} now, {he} gives it a little nod, as one does with a friend.
"""),
)
