"""Somebody is laughed at for an oddity, and the oddity saves the day."""

from groundup.data.toy_stories.grammar import read_blocks, read_story
from groundup.data.toy_stories.plot import Skeleton

ODDITIES = read_blocks("""
oddity: loud voice
worlds: sea, river
manner: Even when {he} whispered, the cups shook on the shelf.
crisis: {Day}, thick fog came down, and {friend} was still out on the water in {friend.his} little boat.
deed: {Hero} took the deepest breath of {his} life. "This way!" {he} shouted. "This way!" {Friend} heard it
  through the fog and rowed straight home.

oddity: big feet
worlds: snow, hill, village, farm
manner: They arrived everywhere a little before the rest of {him}.
crisis: One night so much snow fell that the path to {friend}'s house was gone, and {friend} had nothing left
  to eat.
deed: {Hero} stamped up and down, up and down, until there was a new path, as flat as a table. Then {he}
  carried a pot of soup along it.

oddity: many questions
worlds: river, village, wood, hill
manner: {He} asked why before breakfast, and how after supper.
crisis: {Day}, everyone was on the way to the fair, with {friend} in front. "Why does the bridge hum?" asked
  {hero}. "Oh, not now," said {friend}.
deed: {Hero} asked again, and louder, until somebody looked under the bridge. One beam was broken right
  through. "Stop!" they all called, and {friend} jumped back just in time.

oddity: sharp nose
worlds: farm, village, wood, sea, hill
manner: {He} could tell what the neighbours would have for dinner, two days before they did.
crisis: One night, when everyone was asleep, {he} smelled something that was not dinner. It was smoke!
deed: {Hero} ran from house to house and knocked until {friend} woke up. A coal had rolled out of {friend}'s
  stove. One bucket of water, and the danger was over.

oddity: slow steps
worlds: wood, hill, village, river, farm
manner: By the time {he} arrived, the game was usually over.
crisis: {Day}, they all ran down to the picnic, and {hero} came last, as always.
deed: That is why nobody but {hero} saw {friend}, who had fallen into a ditch and hurt one foot. {Hero} helped
  {friend.him} up, and they walked to the picnic together, very slowly indeed.

oddity: small size
only: mouse
manner: When {he} stood behind a milk jug, nobody could find {him}.
crisis: {Day}, the wind slammed the door of the shed, and {friend} was locked in. The others pushed and pulled
  in vain.
deed: {Hero} squeezed through the gap under the door, climbed onto a box and lifted the latch from inside.

oddity: endless humming
manner: {He} hummed at breakfast, in the bath and even under the blanket.
crisis: One evening {friend}'s baby brother would not stop crying. They tried a rattle, they tried porridge,
  and {friend} even stood on {friend.his} head.
deed: Then {hero} hummed, as low as a bumblebee in a flower. The baby listened, yawned and fell asleep.

oddity: orange hat
worlds: hill, snow, wood, sea
manner: It was so bright that bees flew after it.
crisis: {Day}, they were all out walking when a fog came down, and they lost one another.
deed: {Hero} put the hat on a long stick and held it up. One after another they came to it through the fog,
  {friend} last of all.

oddity: ball of string
worlds: river, sea, farm, village
manner: {He} carried it wherever {he} went, and nobody knew why.
crisis: {Day}, {friend}'s raft broke loose and drifted out on the water, with {friend} on it and no oar.
deed: {Hero} threw the ball of string, and {friend} caught it. Then {he} pulled, and the raft came gliding
  back.

oddity: mighty sneeze
worlds: farm, village, wood, river, hill
manner: It could blow out all the candles on a cake, and sometimes the cake went too.
crisis: {Day}, {friend}'s new kite got stuck in the top of a tree, where nobody could reach it.
deed: {Hero} sniffed at a pepper pot. "Ah, ah, ah," {he} went, and then came the sneeze. The whole tree shook,
  and the kite sailed down like a leaf.

oddity: endless counting
manner: {He} counted stairs, spoons and clouds, and always twice.
crisis: One evening they all came home from a long walk, and everyone was tired and wanted to go to bed.
deed: "Eleven," said {hero}. "This morning there were twelve of us." They went back with lanterns, and there
  was {friend}, asleep under a bush, with jam on {friend.his} chin.

oddity: good memory
manner: {He} remembered every birthday, every song and everything that anyone had ever promised {him}.
crisis: {Day}, {friend} wanted to bake {friend.his} grandmother's famous bread, but the recipe had been eaten
  by moths.
deed: "Three cups of flour," said {hero}, "one of milk, a spoonful of honey, and you must sing while it
  rises." And the bread was just as good as before.
""")

TEASES = read_blocks("""
tease: at home
words: "Can't you leave that at home for once?" {friend.he} asked.

tease: no use
words: "What is the use of that?" {friend.he} asked, and {hero} did not know.

tease: wish
words: When {hero} said, "I wish I were like all the others," {friend.he} answered, "So do I."

tease: song
words: {Friend.he} even made up a rhyme about it, and everyone could sing it.

tease: whisper
words: Whenever {hero} came by, {friend.he} whispered something, and the others giggled.

tease: prize
words: "If there were a prize for odd things," {friend.he} said, "you would win it."
""")

ODD_ONE = Skeleton(
    name="odd one",
    roles=("friend",),
    tables=(ODDITIES, TEASES),
    ending=("oddity",),
    traits="[cheerful/gentle/dreamy/friendly/thoughtful/quiet/honest/kind]",
    story=read_story("""
* {opening}

* There was one odd thing about {hero}: {his} {oddity}. {manner}
* Nobody {in_land} was quite like {him}, because of {his} {oddity}. {manner}
* The first thing that people noticed about {him} was {his} {oddity}. {manner}

* The others laughed about that, and {a_friend.kind} named {friend} laughed the loudest. {words} {Sad}.
* Most people were polite about it, but not {friend.titled}. {words}
---
* {crisis}

* {deed}
---
? "I am sorry that I laughed about your {oddity}," said {friend}. "What would we do without you?"
? {Friend} did not laugh this time. "I am so glad that there is one like you," {friend.he} said.
? {Friend} {friend.glad}, and then {friend.he} said that {friend.he} was sorry.
? "Hooray for {hero}!" they all cried, and {friend} cried it the loudest.

* From that day on, nobody {in_land} made fun of {hero}'s {oddity}. Some even tried to be odd in the same way,
  but they were not half as good at it.
* And {hero}? {He} {glad}. {He} would not have given away {his} {oddity} for all the honey in the world.
* After that, {hero} was rather proud of {his} {oddity}, and {he} no longer wanted to be like all the others.
* Everyone is odd in one way or another. And sometimes, as we can see from {hero}'s {oddity}, that is just
  what is needed.
"""),
)
