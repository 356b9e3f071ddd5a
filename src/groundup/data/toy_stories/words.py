"""Who lives where, what they are called, what they can do: the tables that all plots share.

A world is a stage with its own folk. What a character *can* do matters to the plots: an obstacle that
needs a swimmer only stops a hero who cannot swim, and is only overcome by a helper who can.
"""

from groundup.data.toy_stories.grammar import read_table


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


WORLDS = read_table("""
world   | in_land          | weather
wood    | in the wood      | [bright/misty/windy/fresh/mild/sunny]
farm    | on the farm      | [bright/warm/windy/fresh/cloudy/sunny]
river   | by the river     | [bright/misty/warm/breezy/fresh/sunny]
sea     | by the sea       | [bright/breezy/clear/windy/mild/sunny]
village | in the village   | [bright/rainy/warm/windy/cloudy/sunny]
hill    | in the hills     | [bright/windy/cool/fresh/cloudy/sunny]
snow    | in the far north | [bright/frosty/clear/crisp/cold/icy]
""")

# glad: what it does for joy, after its name. sad: how you see its sorrow, a clause of its own.
KINDS = read_table("""
kind           | can           | glad                                    | sad
girl           |               | [clapped {his} hands/danced about]      | {his} lip began to tremble
boy            |               | [threw {his} cap up/jumped for joy]     | {his} eyes filled with tears
rabbit         | dig           | thumped the ground for joy              | {his} long ears drooped
squirrel       | climb         | flicked {his} tail three times          | {his} bushy tail sank to the ground
hedgehog       |               | rolled up into a happy ball             | {his} prickles drooped
fox cub        | dig           | chased {his} own tail                   | {his} ears fell flat
bear cub       | climb, strong | danced on {his} hind legs               | {his} round shoulders sagged
badger         | dig, strong   | did a little stamping dance             | {his} striped head hung low
mole           | dig           | wiggled {his} pink nose                 | {his} pink nose stopped wiggling
mouse          | climb, tiny   | squeaked with delight                   | {his} whiskers drooped
fawn           |               | leapt into the air                      | {his} big eyes grew wet
lamb           |               | skipped in a circle                     | {his} soft ears hung down
piglet         | dig           | squealed with delight                   | {his} curly tail lost its curl
kitten         | climb         | purred like a little engine             | {his} tail dragged on the ground
puppy          | dig, swim     | wagged {his} whole body                 | {his} tail stopped wagging
duckling       | swim          | flapped {his} small wings               | {his} beak sank to {his} chest
donkey         | strong        | kicked up {his} heels                   | {his} long ears sank
goat           | climb         | jumped straight up into the air         | {his} head hung low
marmot         | dig           | whistled with joy                       | {he} gave one long, low whistle
otter          | swim          | turned a somersault                     | {his} whiskers drooped
beaver         | swim, strong  | slapped the ground with {his} flat tail | {his} flat tail lay quite still
frog           | swim          | gave a loud and happy croak             | {he} gave a very small croak
turtle         | swim          | stretched {his} neck to the sky         | {he} pulled {his} head into {his} shell
seal           | swim          | slapped {his} flippers together         | {his} round eyes grew wet
penguin        | swim          | flapped {his} flippers                  | {his} flippers hung down
polar bear cub | swim, strong  | rolled over and over in the snow        | {his} white shoulders sagged
reindeer       | strong        | kicked up a cloud of snow               | {his} head hung low
arctic hare    | dig           | hopped in a wide circle                 | {his} white ears drooped
""")

HOMES = read_table("""
kind           | worlds  | home
child          | wood    | a [small/crooked/mossy] cottage at the edge of the wood
rabbit         | wood    | a burrow under an old oak
squirrel       | wood    | the hollow of an old beech tree
hedgehog       | wood    | a nest of dry leaves under a hedge
fox cub        | wood    | a den between the roots of a pine tree
bear cub       | wood    | a snug cave in the middle of the wood
badger         | wood    | a tidy house under the ground
mouse          | wood    | a mossy hole behind the ferns
fawn           | wood    | a thicket where the birches grow
mole           | wood    | a cosy tunnel under the clearing
child          | farm    | a [red/little/cheerful] farmhouse with a green door
lamb           | farm    | a warm fold behind the farmhouse
piglet         | farm    | a sty with a straw roof
kitten         | farm    | the hayloft of a big red barn
puppy          | farm    | a kennel beside the barn
duckling       | farm    | a nest beside the duck pond
mouse          | farm    | a snug hole under the barn floor
donkey         | farm    | a stable with a crooked door
child          | river   | a [small/wooden/yellow] house beside the river
otter          | river   | a holt under the river bank
beaver         | river   | a lodge of branches in the river
frog           | river   | a ring of reeds beside the river
duckling       | river   | a nest among the yellow irises
turtle         | river   | a sandy hollow beside the river
hedgehog       | river   | a heap of leaves beside the river
mole           | river   | a dry tunnel above the river
rabbit         | river   | a burrow among the willows
child          | sea     | a [white/windy/blue] house by the sea
seal           | sea     | a quiet cove below the cliffs
turtle         | sea     | a lagoon beside the dunes
kitten         | sea     | a basket in the old boathouse
puppy          | sea     | an upturned boat on the beach
donkey         | sea     | a stable behind the dunes
rabbit         | sea     | a sandy burrow in the dunes
child          | village | a [crooked/narrow/friendly] house in the middle of the village
kitten         | village | a basket behind the bakery
puppy          | village | a kennel beside the village well
mouse          | village | a cosy hole under the post office
hedgehog       | village | a corner of the schoolhouse garden
donkey         | village | a shed next to the market square
duckling       | village | a nest beside the village pond
child          | hill    | a [little/stone/wooden] hut high on a hill
goat           | hill    | a pen with a view over the whole valley
lamb           | hill    | a sheepfold on the hillside
marmot         | hill    | a burrow between the rocks
rabbit         | hill    | a burrow among the heather
bear cub       | hill    | a dry cave under the mountain top
badger         | hill    | a deep den in the hillside
child          | snow    | a [snug/little/wooden] cabin in the far north
penguin        | snow    | a ring of stones on an icy shore
polar bear cub | snow    | a den deep in the snow
seal           | snow    | a sheltered bay with ice all round it
reindeer       | snow    | a birch grove deep in snow
arctic hare    | snow    | a hollow behind a snowy rock
fox cub        | snow    | a den under a frozen hill
""")


HELPERS = read_table("""
kind      | can         | worlds
squirrel  | climb       | wood, river
cat       | climb       | farm, village
goat      | climb       | hill
owl       | fly         | wood, hill
crow      | fly         | wood, farm, village
swallow   | fly         | farm, village
sparrow   | fly         | farm, village
heron     | fly         | river
stork     | fly         | river, farm, village
gull      | fly         | sea
puffin    | fly         | sea
raven     | fly         | hill, snow
snowy owl | fly         | snow
otter     | swim        | river, wood
duck      | swim        | farm, village
frog      | swim        | wood, farm, village
swan      | swim        | village, river
beaver    | swim        | river, wood
seal      | swim        | sea, snow
turtle    | swim        | sea
walrus    | swim        | snow
badger    | dig, strong | wood, hill
mole      | dig         | wood, farm, river, village
rabbit    | dig         | farm, hill, sea
crab      | dig, tiny   | sea
terrier   | dig         | village, farm, sea
white fox | dig         | snow
bear      | strong      | wood, hill, river
ox        | strong      | farm
carthorse | strong      | farm, village
donkey    | strong      | sea, village, hill
reindeer  | strong      | snow
mouse     | tiny        | wood, farm, village
wren      | tiny        | wood, river, village
shrew     | tiny        | river, farm
lizard    | tiny        | hill, sea
lemming   | tiny        | snow
""")

ELDERS = {"she": ("mother", "grandmother", "aunt"), "he": ("father", "grandfather", "uncle")}

CHILD_NAMES = {
    "she": _words("""Nora Mia Lena Ida Ruby Clara Emma Lily Anna Zoe Maya Ines Freya Alma Tess Greta Leila Amara
        Yuki Sofia Hanna Elsa Rosa Edith Priya Nadia Wanda Molly Celia Tara"""),
    "he": _words("""Tom Ben Max Leo Finn Theo Sam Oscar Jonas Emil Hugo Noah Milo Felix Anton Otto Karim Ravi Kenji
        Mateo Jack Luca Amos Pablo Henry Arlo Nils Omar Peter Simon"""),
}
ANIMAL_NAMES = {
    "she": _words("""Clover Hazel Willow Poppy Tansy Dot Pearl Juniper Maple Fern Bluebell Daisy Pepper Ginger Plum
        Mabel Tilly Lottie Nettie Minnow Olga Saffron Ivy Primrose Penny Marigold Betty Trudy Wilma Fay"""),
    "he": _words("""Bramble Pip Rusty Barnaby Fergus Thistle Nutmeg Biscuit Bruno Tuft Pickle Rufus Otis Basil
        Humphrey Archie Teasel Toby Gus Monty Freddie Jasper Chester Alfie Dusty Mortimer Rollo Hector Smudge
        Tumble"""),
}

# How a character shows up in a sentence: "{his} kite", "{Friend.he} laughed".
PRONOUNS = {
    "she": {"he": "she", "him": "her", "his": "her", "himself": "herself"},
    "he": {"he": "he", "him": "him", "his": "his", "himself": "himself"},
}

TRAITS = "[curious/cheerful/lively/gentle/dreamy/busy/clever/merry/friendly/thoughtful]"

OPENING = (
    "[Once upon a time there was {a_who} named {hero}. {He} lived in {home}."
    "/{Hero} was {a_who} who lived in {home}."
    "/In {home} lived {a_who} named {hero}."
    "/There was once {a_who} called {hero}, who lived in {home}."
    "/{Titled} lived in {home}. Everyone {in_land} knew how {trait} {he} was."
    "/Long ago, in {home}, there lived {a_who} named {hero}.]"
)
