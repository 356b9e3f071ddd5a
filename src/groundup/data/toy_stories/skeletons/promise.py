"""A promise is forgotten for something more amusing, a friend is hurt, and it is made good again."""

from groundup.data.toy_stories.grammar import read_blocks, read_story
from groundup.data.toy_stories.plot import Skeleton

PROMISES = read_blocks("""
promise: water the beans
asked: I am going to see my aunt tomorrow. Will you water my beans
worlds: farm, village, river, hill, wood
result: The beans hung their heads, and their leaves were as dry as paper.
mend: Every morning before breakfast {he} carried two cans of water to the beans, for a whole week. One after
  another they lifted their heads again.
proof: In autumn there were beans for two

promise: wait at the bridge
asked: I am coming home tomorrow with a heavy bag. Will you wait at the bridge
worlds: river, village, wood, farm, hill
result: {Friend} had waited at the bridge until dark and had then carried the heavy bag home alone.
mend: The next day {he} was at the bridge before sunrise, with breakfast in a basket and a wheelbarrow for
  anything heavy.
proof: They had breakfast on the bridge, and afterwards {friend} rode home in the wheelbarrow

promise: pick the apples
asked: Tomorrow I have to pick all my apples. Will you help me
worlds: farm, village, wood, hill
result: {Friend} had picked all the apples alone, and now {friend.his} back ached terribly.
mend: {He} carried every basket into the cellar, washed the jars and cooked apple sauce until midnight.
proof: There were twenty jars of apple sauce, ten for each of them

promise: look after the snail
asked: I shall be away tomorrow. Will you look after my pet snail
worlds: farm, village, river, wood, hill, sea
result: The snail's box was empty, and a thin silver line led out of the door.
mend: {He} followed the silver line on {his} knees, with a lantern, half the night. It ended in the lettuce,
  and so did the snail.
proof: The snail had grown a little fatter, and it did not seem to mind

promise: come to the concert
asked: I am playing the flute tomorrow at six. Will you come and listen
result: {Friend} had played the whole concert to an empty chair with {hero}'s name on it.
mend: {He} went from door to door and asked everybody to come the next evening. Then {he} put {his} own chair
  in the very first row.
proof: {Friend} played better than ever, and {hero} clapped until somebody asked {him} to stop

promise: bring back the umbrella
asked: I shall need my umbrella tomorrow. Will you bring it back by noon
worlds: village, farm, river, sea, wood, hill
result: A sudden shower had caught {friend}, and now {friend.he} was wet to the bone and sneezing.
mend: {He} brought the umbrella at last, and with it hot soup, dry socks and a big red handkerchief.
proof: It rained again that evening, and they walked about under the umbrella together

promise: paint the fence
asked: My fence is so ugly. Will you help me to paint it tomorrow
worlds: farm, village, sea, river
result: {Friend} had painted half the fence alone and had run out of strength and of paint.
mend: {He} got up at five, mixed a new pot of yellow and painted the whole other half, with the tops and the
  backs.
proof: It was the yellowest fence {in_land}, and on one post there were two small handprints

promise: feed the hens
asked: I must go to market tomorrow. Will you feed my hens
worlds: farm, village
result: The hungry hens had broken out and eaten every flower in {friend}'s garden.
mend: {He} caught the hens one by one, mended the gate and planted new flowers in every bed.
proof: When the flowers came up, they were even brighter than before, and the hens were not invited

promise: post the letter
asked: This letter must reach my grandmother tomorrow. Will you post it
result: The letter was still lying in {hero}'s bag, and {friend}'s grandmother was waiting in vain.
mend: {He} took the letter and walked all the way to {friend}'s grandmother, over two hills and through a bog,
  and read it aloud to the old lady.
proof: The grandmother sent back a fruit cake, and it was cut into two equal halves

promise: try out the raft
asked: My raft is ready at last. Will you come tomorrow and sail with me
worlds: river, sea
result: {Friend} had tried to push the raft into the water alone, and it had stuck fast in the mud.
mend: {He} waded into the mud up to {his} chin and pushed until the raft came free. Then {he} washed it, board
  by board.
proof: They sailed until sunset, and {hero} was the one who rowed

promise: sit by the bed
asked: The doctor says that I must stay in bed tomorrow. Will you come and read to me
result: {Friend} had spent the whole day staring at the ceiling and had counted all the cracks in it.
mend: {He} came with seven books under {his} arm and read until {his} voice was as hoarse as {friend}'s.
proof: {Friend} got well, and {hero} caught the cold, and then {friend} came and read to {him}
""")

DISTRACTIONS = read_blocks("""
lure: a brass band
came: a brass band came marching past, with a drum as big as a cartwheel. {He} marched along behind it, all
  the way to the next valley
worlds: village, farm, river, hill, wood, sea

lure: a nap
came: {he} lay down under a tree, only for a moment. It was a soft, warm moment, and it lasted all afternoon
worlds: village, farm, river, hill, wood

lure: a dam
came: {he} saw a little brook and put one stone into it, and then another. By and by it became the biggest dam
  {he} had ever built
worlds: wood, farm, hill, village, river

lure: a puppet show
came: there was a puppet show on the way. {He} wanted to see only the beginning, but then {he} had to know how
  it ended
worlds: village, sea, farm, hill, river

lure: raspberries
came: {he} found a bush full of raspberries. {He} ate the ones at the front, and then the ones at the back
  were even sweeter
worlds: wood, hill, farm, river, village

lure: the tide pools
came: {he} looked into a pool that the tide had left. There was a crab in it, and in the next one a starfish,
  and there were so many pools
worlds: sea

lure: the ice
came: {he} found a long, smooth sheet of ice. {He} slid down it once, and then fifty times more
worlds: snow

lure: a whale
came: a whale blew a fountain into the air, far out in the bay. {He} waited all day to see it do that again
worlds: snow, sea

lure: a traveller
came: {he} met a traveller who told such long stories about trolls that nobody could leave before the end
worlds: snow, village, hill

lure: a butterfly
came: a yellow butterfly sat down on {his} nose. {He} followed it across one meadow, and another, and a third
worlds: farm, wood, hill, village, river, sea
""")

PROMISE = Skeleton(
    name="promise",
    roles=("friend",),
    tables=(PROMISES, DISTRACTIONS),
    ending=("proof",),
    traits="[lively/dreamy/curious/merry/cheerful/playful/absent-minded]",
    story=read_story("""
* {opening}

* "{asked}?" {his} friend {friend.titled} asked {him} {day}. "I promise," said {hero}.
* {Day}, {friend.titled} knocked at {his} door. "{asked}?" asked {friend}. "Of course I will," said {hero}. "I
  promise!"
* "{asked}?" asked {a_friend.kind} named {friend} one evening. "You can count on me," said {hero}.
---
* The next day {he} set out early. But on the way {came}.
* The next morning {he} wanted to go. But then {came}.
* And {he} meant it. But the next day {came}.

* When {he} remembered {his} promise, the sun was going down. {He} ran, but it was too late. {result}
* Only at bedtime did {he} think of {friend}, and then {he} went hot and cold. {He} ran over at once. {result}
* It was dark when it came back to {him}, all of a sudden: the promise! {result}

? "You promised," said {friend}. That was all {friend.he} said. {Friend.sad}.
? {Friend} did not shout. {Friend.he} only looked at {hero}, and that was worse.
? "I thought I could count on you," said {friend}, and closed the door.
---
* {Hero} could have said that it was not {his} fault. But it was. "I am sorry," {he} said. {mend}
* {Sad}. A promise is easily broken, but how do you mend it? "Not with words," thought {hero}. {mend}
* "Saying sorry is not enough," thought {hero}, and so {he} did more than that. {mend}
---
* {proof}. "I promise," began {hero}. "You need not say it," said {friend}. "I know."
* {proof}. And {hero} tied a knot in {his} scarf, so as never to forget a promise again.
* {proof}. When {hero} promises something now, it is as good as done.
* "Are we friends again?" asked {hero}. "We always were," said {friend}. "I was only sad." {proof}.
"""),
)
