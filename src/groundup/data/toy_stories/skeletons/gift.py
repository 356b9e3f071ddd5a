"""A present made by hand is better than the bought one, because it answers what the friend lacks."""

from groundup.data.toy_stories.grammar import read_blocks, read_story, read_table
from groundup.data.toy_stories.plot import Skeleton

GIFTS = read_blocks("""
gift: lavender pillow
worlds: farm, village, hill
lack: {friend} slept badly and was tired all day
making: {He} picked a bunch of lavender, dried it in the sun and sewed it into a piece of blue cloth.
effect: That night {friend} laid {friend.his} head on it, sniffed once and slept until noon.

gift: map
lack: {friend} lost the way at least once a day
making: {He} walked down every path {in_land} and drew each stone and each tree on a big sheet of paper.
effect: The next day {friend} found the way there, and even the way back.

gift: woollen hat
lack: {friend} always had cold ears
making: {He} unravelled {his} own old blanket and knitted, and dropped stitches, and picked them up, and
  knitted on.
effect: {Friend} pulled it down over both ears and did not take it off again until May.

gift: walking stick
worlds: wood, hill, snow, river
lack: {friend} slipped on every wet stone
making: {He} found a straight branch, peeled it and carved a little bird at the top.
effect: {Friend} walked over all the wet stones and back again, and did not slip once.

gift: wind chime
worlds: sea, river
lack: {friend} lived alone and thought the evenings much too quiet
making: {He} gathered shells, made a hole in each and hung them on a piece of driftwood.
effect: {Friend} hung it in the window. From that evening on, the wind itself came to tell {friend.him}
  stories.

gift: birdhouse
worlds: wood, farm, village
lack: {friend} loved birds, but no bird ever came to {friend.his} window
making: {He} nailed five little boards together and hit {his} thumb only twice.
effect: It hung in the tree for just three days. Then a pair of robins moved in.

gift: song
lack: {friend} was often sad and did not know why
making: {He} made up a song with seven verses, and in each of them there was something that {friend} was good
  at.
effect: {Friend} wanted to hear it again, and then again. By the third time {friend.he} was singing along.

gift: bench
worlds: hill, sea, river, farm
lack: {friend} loved to watch the sun go down, but the ground was always cold and wet
making: {He} laid a smooth plank over two stones and rubbed it until it shone.
effect: They both sat down on it. There was just enough room for two, and for the sunset in front of them.

gift: picture story
lack: {friend} could not read yet and wished for a story of {friend.his} own
making: {He} drew twelve pictures, one after another, and in every one of them there was {friend}.
effect: {Friend} turned the pages all evening and told the story aloud, a little differently each time.

gift: paper kite
worlds: hill, sea, farm, village
lack: {friend} had to stay indoors all spring with a bad leg and never saw the sky
making: {He} glued old newspapers onto two thin sticks and tied on a tail of ribbons.
effect: {Hero} let it climb in front of the window, and {friend} read the news from the sky.

gift: jar of autumn leaves
worlds: wood, village, farm
lack: {friend} was afraid of the long grey winter
making: {He} gathered the reddest and the yellowest leaves {in_land} and put them into a glass jar.
effect: All winter it stood on {friend}'s table and shone like a little fire.

gift: soft cushion
worlds: snow, farm, river, sea
lack: {friend}'s only chair was as hard as stone
making: {He} gathered a bag of lost feathers and sewed them into {his} old green shirt.
effect: {Friend} sat down on it very carefully, and then did not get up for three hours.
""")

DREAMS = read_table("""
dream              | price
a silver cup       | The silver cup cost ten coins.
a golden watch     | The golden watch cost fifty coins.
a velvet coat      | The velvet coat cost thirty coins.
a cake with towers | The cake with towers cost a whole purse of coins.
a rocking horse    | The rocking horse cost forty coins.
a glass slipper    | The glass slipper cost more than a hundred coins, and that was only the left one.
""")

PURSES = read_table("""
purse                  | bought
two coins and a button | That would buy the ribbon, perhaps.
one coin with a hole   | That would buy the hole, perhaps.
three copper pennies   | That would buy the wrapping paper.
nothing but a feather  | That would buy a smile, if the shopkeeper was in a good mood.
a pebble and a crumb   | That would buy nothing at all.
""")

GIFT = Skeleton(
    name="gift",
    roles=("friend",),
    tables=(GIFTS, DREAMS, PURSES),
    ending=("gift", "dream"),
    story=read_story("""
* {opening}

* Soon it would be the birthday of {his} friend {friend.titled}, and {hero} wanted to give {friend.him}
  {dream}.
* {His} friend {friend.titled} was going to have a birthday. "I will give {friend.him} {dream}," thought
  {hero}.
* On Sunday it would be {friend}'s birthday. {Friend} was {a_friend.kind}, and {hero} wished to give
  {friend.him} {dream}.

* {price} {Hero} looked into {his} purse and found {purse}. {bought}
* {price} All that {hero} had was {purse}. {bought}
---
* {Sad}. But then {he} remembered that {lack}. {Making}
* "What does {friend} really need?" {he} wondered. Then {he} remembered that {lack}. {Making}
* That evening {he} lay awake and thought of {friend}. Everyone knew that {lack}. {Making}
---
* At the party there were big presents and shiny presents. {Hero}'s was a small one. "It's only {a_gift},"
  {he} said, very quietly.
* On the day of the party {he} nearly turned back at the door. "It's just {a_gift}," {he} mumbled. "I made it
  myself."
* "I wanted to give you {dream}," said {hero}, when all the other presents had been opened. "But it is only
  {a_gift}."

? {Friend} was quiet for a long time. Then {friend.he} {friend.glad}.
? "You made this? For me?" asked {friend}, and {friend.he} {friend.glad}.
? "How did you know?" asked {friend}. "I listened," said {hero}.
---
* {effect} What would {friend} have done with {dream}? {Friend.he} needed {a_gift}.
* {effect} {Hero} was glad now that {he} had not had the money for {dream}.
* {effect} Nobody remembers the other presents now, but everyone remembers the {gift}.
* {effect} Of all the presents, the {gift} had cost the least, and it was the one that {friend} kept for ever.
"""),
)
