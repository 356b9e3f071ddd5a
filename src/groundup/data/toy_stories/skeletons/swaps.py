"""One thing is wanted for another and that one for a favour: a chain of errands, walked there and back."""

from groundup.data.toy_stories.grammar import read_blocks, read_story, read_table
from groundup.data.toy_stories.plot import Skeleton

WISHES = read_table("""
wish              | keeper           | worlds
jar of honey      | the beekeeper    | village, farm, hill, wood, river
blue candle       | the candlemaker  | village, farm, hill, wood, river, sea
ball of red wool  | the shepherd     | village, farm, hill, sea
painted bowl      | the potter       | village, farm, hill, wood, river, sea
warm quilt        | the weaver       | village, farm, hill, wood, river, sea
wooden flute      | the woodcarver   | village, farm, hill, wood, river
straw basket      | the basket maker | village, farm, river, sea
little mirror     | the glassblower  | village, hill, sea
gooseberry pie    | the cook         | village, farm, hill, wood, river, sea
book of sea tales | the old captain  | village, river, sea
pot of violets    | the gardener     | village, farm, hill, wood, river
""")

MEANS = read_table("""
means              | owner              | lack
jug of milk        | the milkmaid       | My cat has been crying all morning
new broom          | the broom maker    | My floor is full of dust
sack of flour      | the miller         | I have promised to bake a cake, and my cupboard is empty
strong rope        | the ropemaker      | My goat runs away every night
tin pan            | the tinker         | I have burned a hole in mine
bag of nails       | the blacksmith     | My roof is trying to fly away
fresh fish         | the fisherman      | I have eaten nothing but porridge for a week
bundle of firewood | the woodcutter     | My stove has gone out, and my feet are like ice
big umbrella       | the umbrella maker | It rains into my bed
lump of cheese     | the dairyman       | I have plenty of bread and nothing to put on it
""")

FAVOURS = read_blocks("""
paid: song
ask: sing to my donkey, which will not budge
done: {Hero} sang every song that {he} knew. At the ninth one, the donkey began to walk.

paid: lullaby
ask: rock the baby until it sleeps
done: {Hero} rocked and hummed until the baby was asleep, and almost fell asleep as well.

paid: joke
ask: make me laugh
done: {Hero} told the joke about the cow on the roof. First there was a giggle, and then a roar.

paid: good chase
ask: catch my runaway piglet
done: {Hero} chased the piglet three times round the house and caught it by one curly tail.

paid: rescued hat
ask: fetch my hat down from the tree
done: {Hero} threw pebbles at the hat, one after another, until it came down by itself.

paid: letter
ask: write a letter for me
done: {Hero} wrote the letter in {his} best writing, with only one blot.

paid: good scratch
ask: scratch my back in the middle
done: {Hero} scratched a little higher, a little lower and a little to the left, until it was perfect.

paid: long talk
ask: talk with me for a while
done: {Hero} sat down and listened to the story of a long life, from the beginning to the soup at noon.
""")

SWAPS = Skeleton(
    name="swaps",
    roles=("elder",),
    tables=(WISHES, MEANS, FAVOURS),
    ending=("wish", "means"),
    story=read_story("""
* {opening}

* Soon it would be {his} {elder}'s birthday, and {elder.he} had always wanted {a_wish}. So {hero} went to
  {keeper}.
* {His} {elder} was going to have a birthday. "{Elder.he} would like {a_wish} best of all," thought {hero},
  and off {he} went to {keeper}.
* {Hero} wanted to surprise {his} {elder} with {a_wish}. But {he} had no money. So {he} went to {keeper} and
  asked politely.
---
* "You can have {a_wish}," said {keeper}, "if you bring me {a_means}. {lack}."
* "I do not want any money," said {keeper}. "{lack}. Bring me {a_means}, and the {wish} is yours."

* So {hero} went to {owner}. "{A_means}?" said {owner}. "Gladly. But first you must {ask}."
* So {he} walked on to {owner}. "I will give you {a_means}," said {owner}, "if you {ask}."

* {done}
---
* "Well done," said {owner}, and gave {him} {a_means}. {Hero} ran back to {keeper} with the {means}, and
  {keeper} gave {him} {a_wish}.
* Now {hero} got {a_means} from {owner}, and for the {means} {he} got {a_wish} from {keeper}. It was like a
  staircase.
* {Owner} kept the bargain, and so did {keeper}. {Hero} carried the {means} there and the {wish} back.

? {His} legs were tired, but {he} {glad}.
? It was evening when {he} came home.
---
* "How did you pay for it?" asked {his} {elder}. "With {a_paid} for {a_means}, and with {a_means} for
  {a_wish}," said {hero}.
* {His} {elder} was so pleased with the {wish} that {elder.he} forgot to blow out the candles. "And it cost
  only {a_paid}," said {hero}.
* "I know what this {wish} is made of," said {his} {elder}, when {elder.he} had heard it all. "It is made of
  sore feet and love."
* {Keeper} has the {means}, {hero}'s {elder} has the {wish}, and {hero} has a very good story.
"""),
)
