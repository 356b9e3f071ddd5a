"""Something gets broken, the pieces are hidden, the secret grows heavy, and the truth makes it light."""

from groundup.data.toy_stories.grammar import read_blocks, read_story, read_table
from groundup.data.toy_stories.plot import Skeleton

BREAKAGES = read_blocks("""
thing: blue teapot
deed: {Hero} was playing pirates and swung {his} wooden sword a little too far. Crash! The blue teapot lay in
  three pieces.
mend: glued the three pieces together
after: It pours a little to the left now, but the tea is as good as ever

thing: flower vase
deed: {Hero} was dancing round the table, faster and faster, and bumped into the shelf. Crash! The flower vase
  lay in five pieces.
mend: fitted the five pieces together like a puzzle
after: It can't hold water any more, so now it holds pencils

thing: snow globe
deed: {Hero} wanted to see a real storm and shook it, harder and harder, until it flew away. The snow globe
  lay in a puddle full of glitter.
mend: filled a round jar with water and glitter and set the tiny house inside
after: It snows even longer than before, and now and then a small pea floats by

thing: magnifying glass
deed: {Hero} played detective with it and looked for clues. Then {he} sat down, right on top of it. The
  magnifying glass had lost its handle.
mend: carved a new handle out of cherry wood
after: The new handle is better than the old one, and the first clue they found was a crumb

thing: cuckoo clock
deed: {Hero} wanted to see where the cuckoo slept. {He} opened the little door and pulled. Ping! The cuckoo
  hung upside down on its spring.
mend: put the spring and the wheels and the cuckoo back in their places
after: It calls again every hour, and only at four o'clock does it call five times

thing: wooden duck
deed: {Hero} wanted to know whether it could fly. {He} threw it from the top of the stairs, and it could not.
  The wooden duck had lost its head.
mend: put the head back on with a little wooden peg
after: It can turn its head now, which it never could before

thing: best plate
deed: {Hero} was carrying it on {his} head, like a waiter, and it went well for almost four steps. Then the
  best plate lay in two halves.
mend: glued the two halves together and painted a golden line over the crack
after: Now the best plate has a golden river on it, and {his} {elder} likes it even better

thing: straw basket
deed: {Hero} sat down in it to sail the seven seas. In the middle of the third sea there was a loud crack. The
  straw basket had no bottom any more.
mend: wove a new bottom, over and under, over and under
after: It is stronger than before, and nobody has ever again gone to sea in it

thing: violin
deed: {Hero} wanted to hear how it sounded. {He} plucked one string, and then another, and the third one broke
  with a bang.
mend: put on a new string and tuned it, up and up, until it was right
after: On Sundays {his} {elder} gives {him} lessons now, and the neighbours are patient

thing: porcelain cat
deed: {Hero} made it jump from the table to the chair. It was not that sort of cat. The porcelain cat lost one
  ear.
mend: glued the ear back on
after: The ear is on backwards, and it looks as if the cat were listening to something behind it

thing: honey pot
deed: {Hero} climbed onto three books to reach it. The books slid, and down came {hero}, and the honey pot
  too.
mend: wiped up the honey, which took all afternoon
after: They bought a new one, and it stands on the lowest shelf, next to a small spoon with {hero}'s name on
  it
""")

HIDINGS = read_table("""
hiding    | hid
hat box   | {He} put it into the old hat box and pushed that under the bed.
cupboard  | {He} hid it at the very back of the cupboard, behind the winter boots.
blanket   | {He} covered it with a blanket and tiptoed away.
curtain   | {He} pulled the curtain in front of it and began to whistle.
flowerpot | {He} put a flowerpot in front of it and ran outside.
""")

BLAMES = read_table("""
blamed         | blame
the wind       | I suppose it was the wind
the cat        | It must have been the cat. No fish tonight
the earthquake | There must have been a small earthquake
the mice       | I will have to talk to the mice about this
the wild geese | Perhaps it was the wild geese, flying too low
""")

MISTAKE = Skeleton(
    name="mistake",
    roles=("elder",),
    tables=(BREAKAGES, HIDINGS, BLAMES),
    ending=("thing", "elder"),
    traits="[lively/curious/quick/cheerful/busy/clever/merry/wild]",
    story=read_story("""
* {opening}

* There was one thing in the house that {his} {elder} loved most of all: the {thing}.
* {His} {elder} had only one rule. "Please be careful with the {thing}," {elder.he} said.
* "Don't touch the {thing}," said {his} {elder} {day}, and went out to fetch milk.

* {deed}
* {deed} "Oh no," whispered {hero}.
* {deed} {Sad}.
---
* {hid}
* {His} heart thumped. {hid}

* {His} {elder} looked at the empty place. "{blame}," {elder.he} said. {Hero} said nothing.
* At supper {his} {elder} looked sad. "{blame}," {elder.he} said. {Hero} stared at {his} plate.

? But that night the secret lay in {his} stomach like a stone.
? Now the soup tasted of nothing, and the bed was full of lumps.
? Wherever {he} went, the secret went too, and it grew heavier with every step.
---
* At last {he} could not bear it any longer. "It was not {blamed}," {he} said. "It was me. I am sorry."
* "I have to tell you something," {he} said at last. "It was not {blamed}. I broke the {thing} myself."
* "Please don't blame {blamed}," {he} said in a small voice. "I did it. I was afraid that you would be angry."

* "Telling me was harder than breaking it," said {his} {elder}. "I am glad that you did."
* "Things break," said {his} {elder}. "I would be much sadder if I could not trust you."
* "When I was small, I broke a window," said {his} {elder}, "and hid under the bed for two days. It did not
  help the window."

* Together they {mend}.
* They {mend}, and {he} felt as light as a feather.
---
* {after}. When {hero} sees the {thing}, {he} knows how good it felt to tell the truth.
* {after}. "It was worth it," {his} {elder} likes to say, and {elder.he} winks.
* {after}. That is the story of the {thing}, and {hero} tells it {himself}.
"""),
)
