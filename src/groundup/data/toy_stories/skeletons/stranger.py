"""A stranger in need is given something dear, and comes back when the hero is in need."""

from groundup.data.toy_stories.grammar import read_blocks, read_story
from groundup.data.toy_stories.plot import Skeleton

GIVINGS = read_blocks("""
gift: honey bun
state: too hungry to go on
giving: {He} had saved a honey bun for Sunday. {He} looked at it once more, and then {he} gave it away.

gift: red scarf
state: trembling with cold
giving: {He} had a new red scarf, the first one of {his} own. {He} took it off and held it out.

gift: bed
state: so tired that the words came slowly
giving: There was only one bed in the house. {Hero} gave up the bed and slept on the floor.

gift: pot of soup
state: hungry and cold
giving: There was just one pot of soup for supper. {Hero} filled the biggest bowl for the guest.

gift: candle
state: alone and afraid of the night
giving: {He} had only one candle left. {He} lit it, and they sat by it until morning.

gift: story
state: sad and far from home
giving: {He} wanted to go to bed, but {he} stayed up and told {his} longest story, the one with the flying
  cow.

gift: blanket
state: wet from head to foot
giving: {He} had one warm blanket. {He} fetched it and went to bed in {his} coat.

gift: apple
state: thirsty and out of breath
giving: {He} had kept the last apple of the year. {He} polished it, and then {he} gave it away.
""")

CRISES = read_blocks("""
crisis: the fog
needs: fly
trouble: {hero} was far from home when the fog came down, and {he} could not see the path
rescue: "Left!" cried somebody above the fog. "Now right! Straight on!" {Hero} followed the voice until {he}
  stood at {his} own door, and down flew {helper}.

crisis: the letter
needs: fly
trouble: the wind took the letter that {hero} was carrying to the mayor and blew it high over the roofs
rescue: Then something dark shot through the air. It was {helper}, who caught the letter and let it drop into
  {hero}'s basket.

crisis: the raft
needs: swim
worlds: river, sea, village
trouble: {hero} was out on the water on {his} raft when the only oar broke in two
rescue: Then the raft began to move by itself. In front of it swam {helper}, and {helper.he} pulled it by its
  rope, all the way to the bank.

crisis: the key
needs: swim
worlds: wood, farm, village, river
trouble: {hero} dropped {his} house key into the deepest part of the pond
rescue: The water rippled, and up came {helper} with the key. "Did you lose something?" asked {helper.he}.

crisis: the tree
needs: strong
worlds: wood, farm, river, village, hill
trouble: a storm threw a tree right across {hero}'s door, and nobody could get in or out
rescue: Then there was a snort outside, and a push, and the tree rolled away. There stood {helper}.

crisis: the cart
needs: strong
trouble: {hero}'s cart got stuck in the deep mud, with everything that {he} needed for the winter
rescue: "Let me try," said somebody behind {him}. It was {helper}. One push, and the cart was out.

crisis: the landslide
needs: dig
worlds: hill, snow, wood, sea, river
trouble: the hillside slid down and buried {hero}'s front door, with {hero} inside
rescue: First there was a scratching, then a hole, and then {helper} put {helper.his} head through it. "Good
  morning," {helper.he} said.

crisis: the well
needs: dig
worlds: farm, village, hill
trouble: the well ran dry, and {hero} did not know where to look for water
rescue: Then {helper} came along, sniffed at the ground and began to dig. After an hour the water was bubbling
  up.

crisis: the lock
needs: tiny
trouble: the door of {hero}'s house stuck fast, with {hero} outside and the soup on the stove inside
rescue: "Wait a moment," said a voice near the ground. It was {helper}, who slipped through the keyhole and
  pushed back the bolt.

crisis: the coin
needs: tiny
worlds: farm, village, wood, hill
trouble: {hero}'s lucky coin rolled into a narrow pipe
rescue: Something rattled in the pipe. Out came the coin, and behind it came {helper}, pushing.

crisis: the bell
needs: climb
worlds: farm, village, hill
trouble: the rope of the fire bell broke, just when {hero} smelled smoke
rescue: Somebody ran past {him} and straight up the tower. It was {helper}, and {helper.he} rang the bell
  until everyone had come with buckets.

crisis: the kite
needs: climb
worlds: wood, river, farm, village
trouble: {hero}'s new kite caught in the top of a bare tree
rescue: Then the branches shook. It was {helper}, who climbed up, whistling, and came down with the kite.
""")

STRANGER = Skeleton(
    name="stranger",
    roles=("helper",),
    tables=(GIVINGS, CRISES),
    ending=("gift",),
    traits="[cheerful/gentle/dreamy/friendly/thoughtful/quiet/kind/honest]",
    story=read_story("""
* {opening}

* [One rainy/One stormy/Late one] evening there was a knock at the door. Outside stood an old {helper.kind},
  {state}.
* [One rainy/One stormy/Late one] evening {he} heard a small cough outside. On the step sat an old
  {helper.kind}, {state}.

* "Come in," said {hero} at once. {giving}
* "I do not know you," said {hero}, "but you do not look well. Come in." {giving}
* {Hero} did not ask any questions. {giving}
---
* "My name is {helper}," said the stranger the next morning, "and I have nothing to give you in return." "You
  have said thank you," said {hero}. "That is enough."
* In the morning the stranger got up to leave. "I am {helper}," {helper.he} said. "I will remember this." Then
  {helper.he} was gone.
* When the sun came up, the {helper.kind} bowed. "They call me {helper}," {helper.he} said. "You will see me
  again."

? "What did you get for it?" asked the neighbours. "Nothing," said {hero}, and {he} was quite content.
? "You can't save the whole world with {a_gift}," said the neighbours. "No," said {hero}. "Only a bit of it."
---
* Winter came and went. Then, one day, {trouble}.
* Many weeks later {trouble}.
* {Hero} had almost forgotten about it when, one day, {trouble}.

* {Sad}. {rescue}
* "What now?" said {hero}. {rescue}
* {rescue}
---
* "How can I ever thank you?" asked {hero}. "It is I who thank you," said {helper}. "For the {gift}."
* "But it was only {a_gift}," said {hero}. "It was {a_gift} at the right time," said {helper}, "and that is
  never only."
* {Hero} invited {helper} in, and this time {helper.he} stayed for a whole week. They often laughed about the
  {gift}.
* So {hero}'s {gift} had come back, in another shape. It often happens like that, but you must not wait for
  it.
"""),
)
