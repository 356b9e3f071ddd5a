"""A seed is planted, waited for, nearly lost to a trouble that can be understood, and gives its harvest."""

from groundup.data.toy_stories.grammar import read_blocks, read_story
from groundup.data.toy_stories.plot import Skeleton

PLANTS = read_blocks("""
plant: sunflower
worlds: wood, farm, river, sea, village, hill
nature: tall, leafy
seed: a striped seed
sprout: two round leaves that opened like hands
glory: The sunflower grew past the fence, past the window and past the roof, and it always knew where the sun
  was.
feast: In autumn it had a thousand seeds. Half of them were for the birds, and the other half were for next
  year.

plant: pumpkin
worlds: wood, farm, river, sea, village, hill
nature: fat, leafy
seed: a flat white seed
sprout: a curly green shoot
glory: The pumpkin grew as big as a ball, as big as a pillow, as big as a bathtub.
feast: There was pumpkin soup for everyone {in_land}, and afterwards the pumpkin made a very fine boat.

plant: bean
worlds: wood, farm, river, sea, village, hill
nature: tall, leafy
seed: a spotted seed
sprout: a bent little neck that slowly stood up straight
glory: The bean climbed up a stick, and then up a longer stick, and then it looked round for a tree.
feast: They picked and picked, and there was bean stew with dumplings for three days.

plant: strawberry
worlds: wood, farm, river, sea, village, hill
nature: sweet, leafy
seed: a seed as small as a dot
sprout: three tiny leaves with teeth
glory: First the strawberry had white flowers, then green knobs, and then, one morning, everything was red.
feast: {Hero} and {his} {elder} ate the first one together, half and half, with their eyes shut.

plant: carrot
worlds: wood, farm, river, sea, village, hill
nature: root, leafy
seed: a seed as thin as a thread
sprout: a wisp of green feathers
glory: The carrot grew downwards, where nobody could see it, and only {his} {elder} could guess how long it
  was.
feast: It took two of them to pull it out. It was orange and crooked and as sweet as cake.

plant: apple tree
worlds: wood, farm, river, sea, village, hill
nature: tall, sweet
seed: a shiny brown pip
sprout: a thin red stem with one single leaf
glory: The apple tree grew slowly, a hand and a half each year, and {hero} grew along with it.
feast: When they were both tall enough, there were apples at last, and {his} {elder} made the first pie of
  many.

plant: tulip
worlds: wood, farm, river, sea, village, hill
nature: flower, leafy
seed: an ugly brown bulb
sprout: a green tip like the tip of a pencil
glory: The tulip stood there for a week with its mouth closed. Then it opened, and it was as red as a fire
  engine.
feast: {Hero} did not pick it. {He} put a chair next to it and sat there, and so did half the neighbours.

plant: sweet pea
worlds: wood, farm, river, sea, village, hill
nature: flower, tall
seed: a hard little ball
sprout: a thin stem with curls like a pig's tail
glory: The sweet pea climbed up the wall and put out flowers of pink and purple, and the whole lane smelled of
  them.
feast: {Hero} cut one bunch for {his} {elder}, and the next morning there were two bunches more to cut.

plant: melon
worlds: wood, farm, river, sea, village, hill
nature: fat, sweet
seed: a slippery black seed
sprout: two thick green leaves
glory: The melon lay on its bed of straw like a sleeping pig, and each day it was a little fatter.
feast: It was so ripe that it burst when {he} only looked at it with a knife. They all spat the seeds over the
  wall.
""")

TROUBLES = read_blocks("""
trouble: snails
takes: leafy
harm: One morning there were holes in its leaves. Snails had been there in the night.
cure: {He} did not hurt the snails. {He} laid a ring of crushed eggshells round the {plant}, and the snails,
  who like soft roads, turned back.

trouble: drought
harm: Then no rain fell for four weeks, and the earth cracked like an old cup.
cure: Every evening {he} carried water from the well, two buckets at a time, and told the {plant} that it
  would rain soon.

trouble: crows
takes: sweet, root, tall
harm: But the crows had seen it too. They sat in a row and waited.
cure: {He} built a scarecrow with {his} {elder}'s old hat and a terrible grin. The crows flew off and did not
  come back.

trouble: frost
harm: Then there came a night so cold that the puddles turned to glass.
cure: {He} ran out in {his} nightshirt, covered the {plant} with {his} own blanket and slept under the rug.

trouble: weeds
harm: But other things grew there as well. Thistles and nettles pushed in from all sides.
cure: Every day {he} pulled out seven weeds, no more and no fewer, until the {plant} had the bed to itself.

trouble: wind
takes: tall, flower
harm: Then a wild wind came and bent it down to the ground.
cure: {He} set a strong stick beside the {plant} and tied it up with wool, not too tight and not too loose.

trouble: a goat
takes: leafy, sweet
worlds: farm, hill, village
never: goat
harm: But the neighbour's goat had put its head through the fence, and it was looking very interested.
cure: {He} mended the fence, and every day {he} brought the goat an armful of grass, so that it would think of
  something else.

trouble: moles
takes: root, flower, fat
worlds: farm, village, wood, river
never: mole
harm: One morning there was a heap of earth beside it, and then another. A mole was digging there.
cure: {He} put a bottle into the ground, so that the wind sang in it. The mole, who loves quiet, moved to the
  meadow.
""")

GARDEN = Skeleton(
    name="garden",
    roles=("elder",),
    tables=(PLANTS, TROUBLES),
    ending=("plant",),
    traits="[curious/cheerful/lively/gentle/dreamy/busy/clever/merry/eager]",
    story=read_story("""
* {opening}

* {Day}, {his} {elder} gave {him} {seed}. "There is {a_plant} in it," {elder.he} said, "if you can wait."
  {Hero} was not good at waiting.
* {Day}, {he} found {seed} in {his} {elder}'s shed. "What is that?" {he} asked. "That is {a_plant}," said
  {his} {elder}. "It does not know it yet."
* {He} wanted to grow {a_plant} all by {himself}. "You need earth, water and patience," said {his} {elder} and
  gave {him} {seed}.
---
? {He} put it into the earth. After an hour {he} looked, and after two hours {he} looked again. "It takes
  longer than that," said {his} {elder}.
? {He} planted it and gave it water. The next day {he} dug it up to see whether it was growing. "It can't grow
  if you keep waking it," said {his} {elder}.
? {He} planted it and sat down to watch. Nothing happened. {He} sang to it. Nothing happened, but a sparrow
  joined in.

* At last, after many days, there it was: {sprout}.
* And then, one day, {he} saw {sprout}.
---
* Every morning {he} said hello to it. {harm}
* It grew, and {hero} was as proud as a king. {harm}
* It was doing well. {harm}

* "Not my {plant}!" cried {hero}. {cure}
* {Hero} did not give up. {cure}
* "Think," said {his} {elder}, and so {hero} thought. {cure}
---
* {glory} {feast}
* And it was worth it. {glory} {feast}

? "You made {a_plant}," said {his} {elder}. "No," said {hero}. "I only helped."
? And {hero} had learned to wait, which is harder to grow than {a_plant}.
? When people ask {hero} how one grows {a_plant}, {he} says, "Slowly."
? {Hero} kept one seed in a matchbox, for there is always a next {plant}.
"""),
)
