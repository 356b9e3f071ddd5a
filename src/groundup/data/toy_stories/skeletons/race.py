"""A race could be won, but somebody by the wayside needs help, and the prize goes another way."""

from groundup.data.toy_stories.grammar import read_blocks, read_story
from groundup.data.toy_stories.plot import Skeleton

RACES = read_blocks("""
race: sledge race
worlds: snow, hill
course: from the top of the hill to the frozen pond
way: {His} sledge flew over the bumps like a bird, and soon {he} was far ahead.
stop: {Hero} dug in {his} heels, and the sledge stopped.

race: great summer run
never: turtle
worlds: farm, village, river, hill, wood
course: once round the fields and back to the big oak
way: {He} ran like a hare with a fox behind it, and soon {he} was in front.
stop: {Hero} ran three more steps, and then {he} turned round.

race: soapbox race
worlds: village, farm, hill
course: down the long lane, as far as the well
way: {His} soapbox rattled and shook, but it was the fastest of them all.
stop: {Hero} pulled the brake so hard that it squealed.

race: egg-and-spoon race
never: turtle, seal
worlds: farm, village, wood, river, sea
course: across the meadow and back, with an egg on a spoon
way: {He} walked as if on glass. One by one the others dropped their eggs.
stop: {Hero} laid {his} egg gently in the grass.

race: beach race
never: turtle, seal
worlds: sea
course: along the whole bay to the red rock
way: The sand sprayed up behind {him}, and the others grew smaller and smaller.
stop: {Hero} stopped so suddenly that {he} almost fell.

race: ski race
never: seal
worlds: snow
course: through the birches and down to the cabins
way: {He} swished round every birch, and behind {him} there was nothing but white dust.
stop: {Hero} turned {his} skis, and the snow sprayed up.
""")

RESCUES = read_blocks("""
small: beetle
worlds: farm, village, river, hill, wood, sea
seen: a beetle lay on its back and waved all six legs in the air
help: {He} held out a stalk of grass, and the beetle climbed onto it.
cheer: something very small shouted hooray, six times, once for each leg

small: snail
worlds: farm, village, river, hill, wood, sea
seen: a snail was crossing the course, and the others would come at any moment
help: {He} picked the snail up and carried it to the other side, which saved it the rest of the afternoon.
cheer: the snail waved both its horns

small: chick
worlds: farm, village
seen: a lost chick was running in circles and crying for its mother
help: {He} picked up the chick and carried it back to the mother hen.
cheer: the hen and the chick cackled as if somebody had laid a golden egg

small: old hedgehog
worlds: farm, village, river, wood, hill
seen: an old hedgehog had tripped, and apples were rolling out of the basket
help: {He} picked up the apples, every single one.
cheer: the old hedgehog threw a whole apple into the air for joy

small: baby bird
worlds: farm, village, river, wood, hill
seen: a baby bird had fallen out of its nest and was peeping in the grass
help: {He} climbed onto a stump and put the baby bird back among the others.
cheer: five tiny birds peeped a song without a tune

small: starfish
worlds: sea
seen: a starfish lay on the dry sand, and the sun was burning down on it
help: {He} carried the starfish out to the water and waited until it had settled on a rock.
cheer: the waves clapped against the rocks

small: lemming
worlds: snow
seen: a lemming had fallen into a hole in the snow and could not get out
help: {He} lay down flat, let {his} scarf down into the hole and pulled.
cheer: a whole family of lemmings threw very small snowballs into the air

small: young owl
worlds: snow, wood, hill
seen: a young owl sat on the ground, with a twig caught in its wing
help: {He} loosened the twig, and the owl flew up into a tree.
cheer: the young owl hooted in the middle of the day, which owls never do
""")

PRIZES = read_blocks("""
prize: cream cake
share: cut the cream cake into two halves, exactly in the middle

prize: silver cup
share: filled the silver cup with lemonade and put two straws in it

prize: golden medal
share: hung the golden medal round {hero}'s neck for all the days with an even number

prize: bag of sweets
share: shook the bag of sweets out on the grass and counted, one for {hero} and one for {friend}

prize: red balloon
share: tied a second string to the red balloon, so that two could hold it

prize: ride in the hot-air balloon
share: asked whether two could go, and they could
""")

RACE = Skeleton(
    name="race",
    roles=("friend",),
    tables=(RACES, RESCUES, PRIZES),
    ending=("prize",),
    traits="[quick/lively/cheerful/merry/eager/bold/proud/busy]",
    story=read_story("""
* {opening}

* Every year there was {a_race}, {course}. The prize was {a_prize}, and {hero} meant to win it.
* "This year I am going to win," said {hero}. {He} meant the {race}, {course}. The prize was {a_prize}.
* {Day}, the {race} was held, {course}. The prize was {a_prize}.

* The only one as fast as {hero} was {friend.titled}.
* "May the best one win," said {friend.titled}, who was as fast as {hero}.
---
* "Ready, steady, go!" {way}
* Boom, went the starting drum, and off they went. {way}
* They were off! {way}

* Then {he} saw something by the wayside: {seen}.
* But what was that? {Seen}.

* {stop} {help}

? {Friend} shot past, and so did the others.
? Meanwhile the others went past.
---
* {Friend} won. But when {hero} came in, the very last one, {cheer}.
* {Hero} came in last, and {friend} had won. But {cheer}.

? "You were so far ahead," said {friend}. "Why did you stop?" {Hero} told {friend.him}.
? "What happened to you?" asked {friend}. "I met somebody," said {hero}, and {he} pointed back.
---
* {Friend} was quiet for a moment. Then {friend.he} {share}. And there never was a better {prize} than that.
* "Then this is yours as much as mine," said {friend}, and {friend.he} {share}. So the {prize} made two of
  them happy.
* {Friend} looked at the {prize} and at {hero}. Then {friend.he} {share}. "Next year I will stop, too,"
  {friend.he} said.
"""),
)
