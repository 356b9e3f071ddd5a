"""A very small creature is helped, and says thank you in its own small way."""

from groundup.data.toy_stories.grammar import read_blocks, read_story, read_table
from groundup.data.toy_stories.plot import Skeleton

CREATURES = read_blocks("""
creature: ant
worlds: wood, farm, river, village, hill, sea
plight: carrying a crumb that was three times as big as itself
aid: {He} laid a straw over the gap in the path, and the ant had a bridge.
thanks: On the table there was a perfect ring of sugar, grain beside grain.

creature: spider
plight: hanging in its torn web and not knowing where to begin
aid: {He} held two ends of the thread, very still, until the spider had found the third.
thanks: The hole in {his} sock was mended, with a thread as fine as hair.

creature: bumblebee
worlds: wood, farm, river, village, hill, sea
plight: lying on a cold stone, too weak to fly
aid: {He} put a drop of sugar water in front of it, and the bumblebee drank and began to hum.
thanks: A single clover flower lay on the window sill, the sweetest one of the meadow.

creature: earthworm
worlds: wood, farm, river, village, hill
plight: lying on the dry path, much too far from the grass
aid: {He} laid it on a wet leaf and carried it into the shade.
thanks: The earth round {his} flowers was as loose as cake, and the flowers stood up straight.

creature: ladybird
worlds: wood, farm, river, village, hill, sea
plight: swimming in the rain barrel and going round in circles
aid: {He} held out a leaf, and the ladybird climbed aboard and dried its wings.
thanks: A ladybird sat on {his} pillow and had brought along six cousins to be introduced.

creature: moth
plight: fluttering in a jar that somebody had closed
aid: {He} unscrewed the lid, and the moth flew out, as light as a thought.
thanks: Something had brushed silver dust over {his} blanket, in the shape of a star.

creature: tadpole
worlds: wood, farm, river, village, hill
never: frog
plight: lying in a puddle that was almost dry
aid: {He} scooped it up in a cup and carried it to the pond.
thanks: Weeks later a tiny frog sat in front of {his} door and croaked one short, polite croak.

creature: glow-worm
plight: sobbing because its light had gone out
aid: {He} sat down beside it and told it a story, and at the end of the story the light was on again.
thanks: All along the path to {his} door sat glow-worms, so that {he} should never stumble in the dark.

creature: hermit crab
worlds: sea
plight: sitting in the sand without a shell
aid: {He} looked through all the shells on the beach and found one with a pink door.
thanks: At the edge of the water lay a pearl, no bigger than a grain of rice.

creature: little fish
worlds: river, sea
plight: caught in a pool that was getting smaller and smaller
aid: {He} dug a channel to the deep water, and the little fish shot through.
thanks: When {he} put {his} feet into the water, a hundred little fish came and tickled them.

creature: snow flea
worlds: snow
plight: sinking into a footprint as deep as a well
aid: {He} built a stair of snow, with very small steps.
thanks: On the fresh snow in front of the door somebody had written thank you, in letters as small as dots.
""")

HURRIES = read_table("""
hurry      | busy
breakfast  | on the way to breakfast
school     | on the way to school and a little late already
a party    | on the way to a party
the market | on the way to the market with a basket
a game     | on the way to a game of ball
nowhere    | on the way to nowhere in particular
""")

LITTLE_RESCUE = Skeleton(
    name="little rescue",
    roles=(),
    tables=(CREATURES, HURRIES),
    ending=("creature", "hero", "thanks"),
    traits="[curious/cheerful/gentle/dreamy/friendly/thoughtful/quiet/kind/careful]",
    story=read_story("""
* {opening}

* {Morning}, {he} was {busy} when {he} saw {a_creature}, {plight}.
* {Morning}, {he} was {busy}. Then {he} stopped. In front of {him} was {a_creature}, {plight}.

? "It is only {a_creature}," somebody said. "Only?" said {hero}.
? "You poor thing," said {hero}.
? Nobody else had noticed it.

* {aid}
---
* "It has forgotten me already," thought {hero}. But the next morning {he} had a surprise. {thanks}
* The next day {hero} could hardly believe {his} eyes. {thanks}
* {Hero} did not expect any thanks. But then {he} got some. {thanks}

? So a small heart can hold a big thank you.
? "You are welcome," said {hero} softly.
? And {hero} {glad}.
"""),
)
