"""A skill is learned by failing, with good advice and many tries, and then it is needed."""

from groundup.data.toy_stories.grammar import read_blocks, read_story
from groundup.data.toy_stories.plot import Skeleton

SKILLS = read_blocks("""
skill: whistle
never: duckling, penguin, turtle, frog, marmot
fail: Only air came out, and it sounded like a tired kettle.
advice: Make your mouth small and round, as if you wanted to kiss a cherry
trouble: {friend} got lost in the fog
use: {Hero} whistled, long and loud, and {friend} followed the sound home.

skill: skate
worlds: snow, hill, village
never: penguin, duckling
fail: {His} left foot went to the left, {his} right foot went to the right, and {he} sat down in the middle.
advice: Bend your knees, and look at where you want to go
trouble: {friend} was ill, and the village with the doctor lay on the other side of the frozen lake
use: {Hero} skated across the ice like the wind and came back with the medicine, before the soup was cold.

skill: swim
needs: swim
worlds: wood, farm, river, sea, village
fail: {He} splashed like a washing machine and did not move an inch.
advice: Do not fight with the water. Lie down on it, as if it were a bed
trouble: {friend}'s toy ship, with a note for the king in it, drifted out into the middle of the pond
use: {Hero} swam out with calm, even strokes and brought the ship and the note back.

skill: tie a good knot
worlds: river, sea, village
fail: {His} knots were as big as potatoes, and when {he} pulled, they simply went away.
advice: The rabbit comes out of the hole, runs round the tree and goes back into the hole
trouble: a storm blew up, and {friend}'s boat was tied only with an old ribbon
use: {Hero} tied it with the very best of all knots, and in the morning the boat was still there.

skill: juggle
fail: The first ball went up. The second ball went up. Then they all came down on {his} head.
advice: Look at the highest point, and do not chase the balls
trouble: {friend} had to stay in bed with a broken leg and had not laughed for a week
use: {Hero} juggled three apples in front of the window, and when one of them landed in a flowerpot, {friend}
  laughed out loud.

skill: play the flute
fail: It squeaked and squealed, and the neighbours closed their windows.
advice: Blow as gently as if you wanted to move a feather
trouble: {friend} could not sleep because of the thunder
use: {Hero} played a slow, soft tune, and {friend} was asleep before it ended.

skill: read
fail: The letters looked like ants, and they would not stand still.
advice: Begin with your own name, for you know that already
trouble: {friend} got a letter from far away and nobody was there to read it
use: {Hero} read it aloud, every single word. "Dear {friend}," it said, "I am coming home."

skill: ride a bicycle
only: child
worlds: farm, village, river, sea
fail: The bicycle leaned to one side, {he} leaned to the other, and they parted.
advice: Look straight ahead, and pedal as if somebody were waiting for you
trouble: {friend} forgot {friend.his} lunch and had nothing to eat at school
use: {Hero} jumped onto the bicycle and got there just as the noon bell rang.

skill: bake bread
fail: The first loaf was as flat as a plate, and the second was as hard as a brick.
advice: Be patient, let the dough sleep and do not wake it too early
trouble: {friend} fell ill and was too weak to cook
use: {Hero} baked a round, golden loaf, and the smell alone made {friend} sit up in bed.

skill: skip stones
worlds: river, sea, wood, village
fail: Plop, went the first stone. Plop, went the next forty.
advice: Take a flat stone, bend down low and let it fly like a plate
trouble: {friend} fell asleep on a raft and drifted away
use: {Hero} made a stone skip seven times, right up to the raft. It knocked on the wood, and {friend} woke up
  and paddled home.

skill: walk on stilts
only: child, goat, bear cub, badger, mouse, fox cub
fail: {He} stood on them for as long as it takes to say ouch.
advice: Keep moving, and do not look down
trouble: the spring flood rose, and {friend} sat on the roof with wet feet
use: {Hero} came through the water on {his} stilts, with a basket of hot buns on {his} back.

skill: yodel
never: seal, penguin
worlds: hill, snow
fail: It sounded like a rooster with a sore throat, and far away a cow answered.
advice: Let your voice jump from the low step to the high one
trouble: {friend} did not come back from the mountain in the evening
use: {Hero} yodelled from the highest rock, and from the next valley {friend} yodelled back. So they knew
  where to look.
""")

EFFORTS = read_blocks("""
effort: five days
tries: On Monday it was dreadful. On Tuesday it was bad. On Wednesday it was not so bad. On Thursday it was
  nearly good. And on Friday it was good.

effort: behind the shed
tries: {He} practised behind the shed, where nobody could see {him}, except for one snail. In the end even the
  snail was impressed.

effort: a hundred times
tries: {He} tried it ten times a day for ten days. That makes a hundred times, and the hundredth time it
  worked.

effort: every morning
tries: {He} tried it every morning before breakfast. It did not work for two weeks. Then, all at once, it did.

effort: little by little
tries: {He} got a little better each day, so little that nobody noticed it, least of all {hero}. But little
  and little makes a lot.

effort: three steps
tries: {He} made three mistakes, and then {he} made two, and then only one. And one day there was no mistake
  left to make.
""")

PRACTICE = Skeleton(
    name="practice",
    roles=("friend", "elder"),
    tables=(SKILLS, EFFORTS),
    ending=("skill",),
    traits="[cheerful/lively/gentle/dreamy/busy/merry/friendly/stubborn/eager]",
    story=read_story("""
* {opening}

* Almost everyone {in_land} could {skill}, but {hero} could not. {He} tried it. {fail}
* More than anything {he} wanted to {skill}. So {he} tried it. {fail}
* "I wish I could {skill}," {he} said {day}, and {he} tried. {fail}

* {His} friend {friend.titled} tried not to laugh, but it was not easy.
* "I shall never learn it," {he} said to {his} friend {friend.titled}. "Not today, anyway," said {friend}.
* {His} friend {friend.titled} patted {him} on the back.
---
* {His} {elder} had seen it all. "{advice}," {elder.he} said, "and try again."
* So {he} went to {his} {elder}, who knew about such things. "{advice}," said {his} {elder}. "And then do it
  again, and again."

* {tries}
---
* Not long after that, {trouble}. {use}
* Then came a day when {trouble}. {use}
* And that was a good thing, because soon afterwards {trouble}. {use}
---
* "Lucky that you can {skill}," said {friend}. "That was not luck," said {hero}. "That was practice."
* "Will you teach me to {skill}?" asked {friend}. "Gladly," said {hero}. "But first you will have to be bad at
  it."
* {His} {elder} nodded. "Anyone can {skill} who has failed often enough," {elder.he} said.
* So that is how {hero} learned to {skill}, and why {he} was never again ashamed of a bad beginning.
"""),
)
