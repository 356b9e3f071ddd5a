"""Hide-and-seek: a fine hiding place, something that gives it away, and an unexpected turn."""

from groundup.data.toy_stories.grammar import read_blocks, read_story
from groundup.data.toy_stories.plot import Skeleton

HIDES = read_blocks("""
spot: under the wheelbarrow
worlds: farm, village, hill
joke: Only {his} feet stuck out, but feet can belong to anybody.

spot: behind the water barrel
worlds: farm, village, hill, river, sea
joke: {He} made {himself} as thin as a plank.

spot: in the laundry basket
worlds: farm, village, sea, river
joke: {He} put a sock on {his} head and looked like laundry.

spot: behind the waterfall
worlds: hill, wood, river
joke: It was wet, but it was perfect.

spot: under a heap of leaves
worlds: wood, village, hill, river, farm
joke: It rustled a little when {he} breathed, so {he} breathed only now and then.

spot: in a hollow log
worlds: wood, river, hill
joke: A beetle lived there, too, and moved over politely.

spot: under the rowing boat
worlds: sea, river
joke: It smelled of fish, but nobody would look there.

spot: behind a sandcastle
worlds: sea
joke: {He} put a small flag on {his} head and was the tower.

spot: behind the snowman
worlds: snow, hill, village
joke: {He} stood so still that the snowman seemed to move.

spot: in a snowdrift
worlds: snow
joke: Only the tip of {his} nose looked out, like a very small stone.

spot: among the pumpkins
worlds: farm, village
joke: {He} curled up and tried to think like a pumpkin.

spot: inside the tall clock
worlds: village, sea, farm
joke: {He} ticked a little, to be on the safe side.
""")

CLUES = read_blocks("""
clue: sneeze
betrayed: Then {hero}'s nose began to tickle, more and more. Achoo!

clue: giggle
betrayed: Then {hero} thought of something funny, and out came a giggle.

clue: stomach
betrayed: Then {hero}'s stomach rumbled, as loud as a cart on a bridge.

clue: butterfly
worlds: wood, farm, river, sea, village, hill
betrayed: Then a butterfly sat down right on top of {hero} and would not go away.

clue: hiccup
betrayed: Then {hero} got the hiccups.

clue: itch
betrayed: Then {hero}'s back began to itch, just where one can't bear it.

clue: song
betrayed: Then {hero} forgot that {he} was hiding and began to hum.
""")

TURNS = read_blocks("""
turn: asleep
surprise: {Hero} looked everywhere. At last {he} found {friend} under {friend.his} own bed, fast asleep, and
  lay down beside {friend.him}.

turn: followed
surprise: {Hero} looked everywhere for an hour. Then {he} turned round, and {friend} was right behind {him},
  and had been there all the time.

turn: cake
surprise: {Hero} looked everywhere, until {he} smelled warm cake. {Friend} sat in the kitchen with two plates.
  "I knew that you would find me here," {friend.he} said.

turn: both
surprise: But {hero} forgot to count and hid as well. They both waited until supper, and each was very proud
  of not being found.

turn: open
surprise: {Friend} stood in the middle of the meadow with {friend.his} eyes shut. "You can't see me,"
  {friend.he} said, "because I can't see you."

turn: tree
friend: child
worlds: wood, farm, village, river, hill
surprise: {Hero} looked everywhere, but not up. Then a cherry stone fell on {his} head, and another, and there
  sat {friend} in the tree, with a mouth full of cherries.
""")

HIDE_AND_SEEK = Skeleton(
    name="hide and seek",
    roles=("friend",),
    tables=(HIDES, CLUES, TURNS),
    ending=("friend",),
    traits="[curious/cheerful/lively/dreamy/clever/merry/friendly/playful/quick]",
    story=read_story("""
* {opening}

* {Day}, {he} was playing hide-and-seek with {his} friend {friend.titled}. {Friend} counted, and {hero} hid
  {spot}.
* "I will count to twenty," said {his} friend {friend.titled}, and shut both eyes. {Hero} ran and hid {spot}.

* {joke}

? {Friend} came past once, and then once more, and saw nothing.
? "Where can {he} be?" said {friend}, quite near.
? It was so quiet that {hero} could hear {his} own heart.

* {betrayed} "Found you!" cried {friend}.
---
* Now it was {friend}'s turn to hide. {surprise}
* "Now I will hide," said {friend}. {surprise}

? They called it a draw.
? "Again?" asked {hero}. "Again," said {friend}.
? And that was the best hiding place of all, they agreed.
"""),
)
