"""Somebody wants to bring home what nobody can hold, and finds the small way in which it can be done."""

from groundup.data.toy_stories.grammar import read_blocks, read_story
from groundup.data.toy_stories.plot import Skeleton

GOALS = read_blocks("""
goal: the moon
why: {Friend} lay ill in a room without a window and had not seen the moon for weeks.
tries: First {he} reached for the moon with a ladder, but the ladder was too short. Then {he} tried it with a
  fishing rod, and caught a bat, which was very cross.
idea: On the way home {he} stopped at the well and filled a bucket. And there, in the bucket, swam the moon.
gift: {Hero} carried the bucket through {friend}'s door, so carefully that only a little of the moon was
  spilled

goal: a star
why: {Friend} was afraid at night, and a star by the bed would be a great help.
tries: First {he} jumped for a star, and then {he} jumped from a chair. Then {he} held out {his} hat all
  night, in case one fell down.
idea: In the morning {he} took an old tin, made a hundred holes in it with a nail and put a candle inside.
gift: When {friend} lit the candle, the whole ceiling was full of stars

goal: the rainbow
why: {Friend} had never seen one, because {friend.he} always slept when it rained.
tries: First {he} ran to the end of the rainbow, but when {he} got there, it stood behind the next hill. Then
  {he} tried to roll it up, from far away, and rolled up only air.
idea: The next day {he} set a glass of water on {friend}'s window sill, right in the sun.
gift: And there, on the white wall, lay a rainbow, just big enough for one room

goal: a cloud
why: {Friend} wanted to know what a cloud feels like.
tries: First {he} threw a rope at a cloud, and then {he} blew at it, to make it come down. It only became a
  little thinner.
idea: Then {he} saw the kettle on the stove, and {he} had to laugh. {He} fetched {friend} into the kitchen.
gift: Out of the kettle came a small white cloud, and it felt warm and wet and smelled of peppermint

goal: the wind
why: {Friend} had to stay in bed with a broken leg and missed the wind in {friend.his} face.
tries: First {he} caught the wind in a sack, but when {he} opened the sack, it was empty. Then {he} closed it
  up in a box, and it sat in there as still as a stone.
idea: "It does not want to be caught," thought {hero}. "It wants to play." So {he} made a paper pinwheel and
  fixed it to {friend}'s window.
gift: The wind came at once, all by itself, and the pinwheel whirred until {friend} felt the air on both
  cheeks

goal: the sea
worlds: wood, farm, hill, village
why: {Friend} had grown up by the sea and was homesick for the sound of it.
tries: First {he} wanted to fetch the sea in buckets, but it was too far. Then {he} made waves in a washtub,
  and they were only wet.
idea: At the back of a drawer {he} found a big old shell. {He} held it to {his} ear, and then {he} ran.
gift: {Friend} held the shell to {friend.his} ear and listened, and there it was, the whole of the sea

goal: the summer
worlds: wood, farm, river, sea, village, hill
why: {Friend} was so sad when the days grew short and the last swallows left.
tries: First {he} asked the sun to stay, but it went down even earlier. Then {he} tied the leaves to the
  branches, and they fell off, string and all.
idea: So {he} gathered what was left of it: petals, thyme, blackberries and a long blade of grass. {He} put it
  all into a big jar with honey and closed the lid.
gift: In the middle of winter they opened the jar, and the whole kitchen smelled of July

goal: a sunbeam
why: {Friend} lived in a deep, dark hollow where the sun never came.
tries: First {he} carried a sunbeam home in {his} hat, but when {he} looked, the hat was dark. Then {he} tried
  it with a jar and a very quick lid.
idea: Then {he} sat down to rest, and something on a rock winked at {him}. It was a piece of an old mirror.
gift: {Hero} turned the mirror, a little to the left and a little up, and a sunbeam jumped right across the
  valley and into {friend}'s hollow

goal: the song of the nightingale
worlds: wood, farm, village, river, hill
why: {Friend} had heard it only once, and had been looking for it ever since.
tries: First {he} asked the nightingale to come along, but it was shy. Then {he} hid under its tree with an
  open box and snapped the lid shut. It was not in there.
idea: So {he} listened, night after night, and learned it on {his} tin whistle, note by note.
gift: Then {he} played it under {friend}'s window, and from the hedge the nightingale answered
""")

DOUBTERS = read_blocks("""
doubter: an old crow
doubt: "Nonsense!" said an old crow. "Nobody can do that."

doubter: a fat cat
doubt: A fat cat opened one eye. "That won't work," it said, and closed the eye again.

doubter: the postman
doubt: The postman laughed so hard that all the letters shook.

doubter: a wise toad
doubt: "It can't be done," said a wise toad. "But tell me when you have done it."

doubter: three sparrows
doubt: Three sparrows said that it was silly, all three at the same time.

doubter: a signpost
doubt: {He} asked a signpost which way {he} should go, but it only pointed in two directions at once.
""")

SKY_WISH = Skeleton(
    name="sky wish",
    roles=("friend",),
    tables=(GOALS, DOUBTERS),
    ending=("goal", "gift"),
    traits="[curious/cheerful/lively/dreamy/clever/merry/friendly/bold]",
    story=read_story("""
* {opening}

* {Day}, {hero} made up {his} mind to bring {goal} to {his} friend {friend.titled}. {why}
* {His} friend was {a_friend.kind} named {friend}. {why} "I will bring you {goal}," said {hero}.
* "What do you wish for?" {he} asked {his} friend {friend.titled}. "I wish for {goal}," said {friend}. {why}
  "Then I will get it for you," said {hero}.
---
* {doubt} But {hero} did not listen. {tries}
* {tries} {doubt}

? "Perhaps it is really impossible," sighed {hero}. {Sad}.
? {Hero} sat down to think. It was harder than it had looked.
? "I must think of another way," said {hero}. "A smaller one, perhaps."
---
* {idea}

* {gift}. "You did it," whispered {friend}. "You brought me {goal}."
* {gift}. {Friend} {friend.glad}. Who says that nobody can have {goal}?
* {gift}. "It is only a small piece of {goal}," said {hero}. "It is enough," said {friend}.
* {gift}. And they both sat there for a long time, {hero} and {friend}, and thought of nothing but {goal}.
"""),
)
