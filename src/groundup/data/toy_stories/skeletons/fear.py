"""A friend needs help just where the hero is afraid to go."""

from groundup.data.toy_stories.grammar import read_blocks, read_story, read_table
from groundup.data.toy_stories.plot import Skeleton

FEARS = read_blocks("""
fear: the dark
dread: {He} thought that the night was full of long, cold fingers.
need: One evening a thin voice called from the end of the dark lane. "Help! I have hurt my foot!" It was
  {friend}.
go: walked into the dark
truth: The long, cold fingers were only twigs, wet with dew.
rescue: {Friend} sat on a stone at the end of the lane. {Hero} let {friend.him} lean on {him}, and together
  they hobbled home.

fear: the thunder
dread: {He} believed that a giant was rolling barrels across the sky.
need: One evening the thunder came, and {hero} crept under the bed. Then {he} remembered that {friend} was all
  alone.
go: ran out into the storm
truth: The thunder grumbled and growled, but it did not bite anyone.
rescue: {Friend} was sitting under the table and was very glad to have company.

fear: the rushing stream
worlds: wood, hill, farm, village, snow
needs: swim
dread: {He} thought that it roared like a hungry lion.
need: {Day}, {friend} lay in bed with a fever on the other side of the stream, and somebody had to bring the
  medicine.
go: stepped onto the first stone, and then onto the next
truth: The stream only wanted to get to the sea. It did not care about {hero} at all.
rescue: {Friend} swallowed the medicine, made a terrible face and felt better.

fear: the rope bridge
worlds: wood, hill, river, snow
needs: climb
dread: It swayed and creaked, and the ground was a very long way down.
need: {Day}, it was {friend}'s birthday, and the party was on the other side of the bridge.
go: put one foot on the bridge, and then the other
truth: The bridge creaked, but so does a rocking chair, and who is afraid of a chair?
rescue: {Friend} was waiting on the other side with the very first piece of cake.

fear: the big white goose
worlds: farm, village, river
dread: It hissed like a kettle, and its neck was as long as a snake.
need: {Day}, {friend}'s kite came down right behind the goose, and {friend} began to cry.
go: walked up to the goose
truth: The goose was not angry at all. It was lonely, because nobody ever said good morning to it.
rescue: {Hero} wished it a very good morning and came back with {friend}'s kite.

fear: the bees
worlds: farm, wood, village, hill, river
never: bear cub
dread: Whenever something buzzed, {he} hid behind a tree.
need: {Day}, {friend} had such a cough that {friend.he} could not speak, and only honey would help.
go: went up to the hive and asked politely
truth: The bees were much too busy to sting anybody.
rescue: {He} filled a small jar with honey, and by evening {friend}'s cough was gone.

fear: the old mill
worlds: farm, village, river, hill
dread: At night something in there moaned, and everyone said that it was a ghost.
need: One evening {friend} ran after a moth, right into the mill, and the door fell shut behind {friend.him}.
go: marched up to the mill and lifted the latch
truth: The ghost was only the wind, blowing across an empty bottle.
rescue: Out came {friend}, with cobwebs on both ears and the moth on {friend.his} head.

fear: the black cave
worlds: hill, sea, wood, snow
dread: Whenever {he} shouted near it, somebody inside shouted back.
need: {Day}, {friend} went in to look for crystals and could not find the way out again.
go: went up to the mouth of the cave
truth: The somebody was only an echo, and it was very polite. When {hero} said hello, it said hello.
rescue: {Hero} called again and again, and {friend} followed the sound, out into the light.

fear: singing in front of others
takes: quiet
dread: {His} voice hid in {his} throat like a snail in its shell.
need: On the night of the great feast {friend} was to sing the first song, but {friend} had lost {friend.his}
  voice.
go: stepped onto the stage and opened {his} mouth
truth: The faces in front of {him} were not stern at all. They were smiling, every one of them.
rescue: {Hero} sang the whole song, and {friend}, who could not cheer, stamped with both feet.

fear: the new school
worlds: village, farm, sea, wood, river, hill, snow
dread: {He} thought that everybody there would know everything already.
need: On the first morning {he} found {friend} at the gate, in tears. {Friend} did not dare to go in alone.
go: took {friend} along and walked in
truth: Nobody knew everything. Most of them did not even know where to hang their hats.
rescue: {Hero} and {friend} sat side by side, and at noon they shared an apple.

fear: the foghorn
worlds: sea
dread: It bellowed like a sea monster with a cold.
need: {Day}, thick fog rolled in. {Friend} was still out in {friend.his} boat, and the lighthouse keeper lay
  ill in bed.
go: climbed the stairs to the foghorn and pulled the rope
truth: The foghorn was only calling the boats home, like a mother at supper time.
rescue: {Hero} pulled the rope again and again, until {friend}'s boat came sliding out of the fog.
""")


PLANS = read_table("""
plan        | nature | doing
a song      |        | hummed the bravest song that {he} knew
a number    | quiet  | counted slowly up to twenty
a pebble    | quiet  | held a smooth pebble as tight as {he} could
pretending  | quiet  | pretended to be a knight in a tin suit
a joke      | quiet  | told {himself} a joke, and then another one
pancakes    | quiet  | made {himself} think of hot pancakes
three sighs | quiet  | took three breaths, each one deeper than the last
a promise   | quiet  | promised {himself} a long hot bath
""")

FEAR = Skeleton(
    name="fear",
    roles=("friend",),
    tables=(FEARS, PLANS),
    ending=("fear",),
    traits="[curious/cheerful/lively/gentle/dreamy/busy/clever/merry/friendly/quiet/shy/careful]",
    story=read_story("""
* {opening}

* {He} had one best friend, {a_friend.kind} named {friend}, and one great fear: {fear}. {dread}
* Every day {he} played with {his} friend {friend.titled}. They were not afraid of spiders, and not of big
  words either. But {hero} was afraid of {fear}. {dread}
* {He} liked {his} friend {friend.titled}, and {he} liked nearly everything else in the world. But {he} was
  afraid of {fear}. {dread}
* "What are you most afraid of?" {his} friend {friend.titled} once asked. {Hero} did not have to think. "Of
  {fear}," {he} said. {dread}
---
* {need}

? {His} heart beat like a drum. "I can't do it," {he} whispered. Then {he} thought of {friend}. "But I must."
? {Sad}. "Anything but that," {he} thought. But there was nobody else who could do it.
? {Hero} wanted to run away. {His} feet wanted to run away even more. But {friend} needed {him}.

* So {hero} {doing}, and then {he} {go}.
* {Hero} {doing}. And when that was done, {he} {go}.
* First {hero} {doing}, and then {he} {go}.
---
* And what do you think? {truth} {rescue}
* {truth} {rescue}
* Then {he} had to smile. {truth} {rescue}
---
* "Were you not afraid of {fear}?" asked {friend}. "Very much," said {hero}. "But you needed me."
* "I was afraid of {fear}," said {hero} that evening, "and I went all the same." "I think," said {friend},
  "that this is what brave means."
* {Hero} was never again quite so afraid of {fear}. And if {he} was, a little, {he} knew what to do about it.
* Nothing about {fear} had changed. But {hero} had grown, by about the size of a thumb, on the inside.
* That night {hero} dreamed of {fear}, and it was a friendly dream.
"""),
)
