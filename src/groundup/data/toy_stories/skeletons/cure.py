"""A friend is ill, the cure is out of reach, and a kindness done on the way is returned."""

from groundup.data.toy_stories.grammar import read_blocks, read_story
from groundup.data.toy_stories.plot import Skeleton

CURES = read_blocks("""
cure: wild honey
ill: a bad cough
worlds: wood, farm, river, village, hill
dose: stirred the wild honey into hot milk

cure: sweet mint
ill: a stomach ache
worlds: wood, farm, river, village, sea
dose: made a pot of tea with the sweet mint

cure: elder flowers
ill: a fever
worlds: wood, farm, river, village, hill
dose: poured hot water over the elder flowers

cure: dried thyme
ill: a sore throat
worlds: hill, village, farm, sea
dose: boiled the dried thyme in a little pot

cure: cloudberries
ill: a heavy cold
worlds: snow, hill
dose: cooked the cloudberries into a thick red juice

cure: sea lavender
ill: a headache
worlds: sea
dose: laid the sea lavender under the pillow

cure: pine needles
ill: a chill
worlds: snow, wood, hill
dose: put the pine needles into a hot bath
""")


PLACES = read_blocks("""
where: on the far side of the river
worlds: wood, river, farm, village, hill
needs: swim
problem: The bridge had been washed away, and {hero} could not swim.
fetch: {Helper} swam across and came back with the {cure} tied to {helper.his} back.

where: on an island in the bay
worlds: sea, snow
needs: swim
problem: There was no boat, and {hero} could not swim.
fetch: {Helper} swam out to the island and came back with the {cure} on {helper.his} head, quite dry.

where: on top of the steepest cliff
worlds: hill, sea, snow
needs: fly
problem: The cliff went straight up, like a wall.
fetch: {Helper} flew up to the top and let the {cure} drop right in front of {hero}'s nose.

where: at the top of a crumbling old tower
worlds: village, farm, wood, hill
needs: climb
problem: The stairs had fallen down long ago.
fetch: {Helper} climbed up from stone to stone and threw the {cure} down.

where: behind a hedge full of thorns
worlds: farm, village, wood, hill
needs: tiny
problem: There was no gate, and the thorns were as long as fingers.
fetch: {Helper} slipped through a gap no bigger than a coin and came back with the {cure}.

where: behind a heap of fallen rocks
worlds: hill, wood, sea, snow
needs: strong
problem: The rocks blocked the whole path.
fetch: {Helper} rolled the biggest rock aside, and behind it {hero} found the {cure}.

where: behind the high wall of the castle garden
worlds: village, farm, river
needs: dig
problem: The gate was locked, and the wall was very high.
fetch: {Helper} dug a tunnel under the wall, in on this side and out on that, and brought the {cure}.

where: under the deep snow in the valley
worlds: snow
needs: dig
problem: The snow was higher than {hero}'s head.
fetch: {Helper} dug down and down until only {helper.his} tail could be seen, and came up with the {cure}.
""")


FAVOURS = read_blocks("""
favour: an old net
trouble: {Helper} had got tangled up in an old net and could move neither forwards nor backwards.
mend: {He} undid the knots, one after another.

favour: a burr
trouble: {Helper} had a prickly burr in the middle of {helper.his} back.
mend: {He} pulled it out, so gently that it did not hurt.

favour: the spectacles
trouble: {Helper} had lost {helper.his} spectacles and could not find the way home.
mend: {He} found them at once. They were on top of {helper.his} head.

favour: a sack
trouble: {Helper} was dragging a sack that was much too heavy.
mend: {He} took one end of it, and together they brought it home.

favour: the button
trouble: {Helper} had lost the only button of {helper.his} winter coat.
mend: {He} searched until {he} found it, and sewed it on with a double thread.
""")

CURE = Skeleton(
    name="cure",
    roles=("friend", "helper", "elder"),
    tables=(CURES, PLACES, FAVOURS),
    ending=("cure",),
    story=read_story("""
* {opening}

* {Day}, {his} friend {friend.titled} had to stay in bed with {ill}.
* {His} best friend was {a_friend.kind} named {friend}. But {morning} {friend} fell ill with {ill}.
---
* "Only {cure} can help," said {hero}'s {elder}, "and the nearest can be found {where}." {Hero} set off at
  once.
* "What will help {friend}?" asked {hero}. "{Cure}," said {his} {elder}, "and the nearest can be found
  {where}." {Hero} was already putting on {his} scarf.

* On the way {he} met {a_helper.kind} named {helper}. {trouble} {Hero} was in a hurry, but {he} stopped.
  {mend}
* Halfway there, somebody sighed. It was {a_helper.kind} named {helper}. {trouble} {Hero} had no time at all,
  but {he} helped. {mend}
---
* When {he} came to the place, {his} heart sank. {problem}
* But then {he} had to stop. {problem} {Hero} sat down on a stone and sighed.

* "You helped me, and now I will help you," said a voice. It was {helper}! {fetch}
* But {helper} had come after {him}. "One good turn deserves another," {helper.he} said. {fetch}
---
* {Hero} ran all the way home. {His} {elder} {dose}, and soon {friend} was sitting up in bed and asking for
  pancakes.
* They hurried back together. {Hero}'s {elder} {dose}. By supper time {friend} was out of bed again.

? "It was the {cure} that helped," said {hero}. "The {cure} and a friend," said {friend}.
? "Who found the {cure}?" asked {friend}. "{Helper} did," said {hero}. "No, you did," said {helper}.
? If {hero} had not stopped to help {helper}, there would have been no {cure} at all.
? So a little kindness on the way had brought home the {cure}.
"""),
)
