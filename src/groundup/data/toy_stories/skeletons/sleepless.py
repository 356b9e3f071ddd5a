"""Somebody can't sleep; what everyone recommends fails, and what is really the matter can be put right."""

from groundup.data.toy_stories.grammar import read_blocks, read_story
from groundup.data.toy_stories.plot import Skeleton

CAUSES = read_blocks("""
cause: the journey tomorrow
confession: Tomorrow is the big journey, and I am so excited that my legs go on walking
answer: Then let us make the journey now, very slowly, with our eyes shut
cure: They went down the lane together, in their thoughts, past the pond and over the bridge. Before they
  reached the second hill, {hero} was breathing deeply.

cause: the quarrel
confession: I was unkind to my best friend today
answer: That is a hard thing to lie on. Write it down, and we will take the letter over before breakfast
cure: {Hero} wrote three words on a piece of paper, and they were the right ones. Then {he} laid {his} head on
  the pillow, and it was soft again.

cause: the song
confession: There is a song in my head, and it goes round and round and has no end
answer: Then it needs an end. Shall we make one
cure: They tried one that was sad and one that was silly. The third one was just right, and when they had sung
  it twice, {hero} was asleep.

cause: the star
confession: There is one star in the window, and I do not know its name
answer: Nobody has named that one yet. You may do it
cure: {Hero} thought about it for a long time. "Then it is called Dumpling," {he} said, and yawned, and slept.

cause: the dark corner
confession: There is something sitting in the dark corner
answer: Let us ask it in
cure: They lit the lamp and looked. It was only {hero}'s own coat, hanging on a chair. "Good night, coat,"
  said {hero}, and soon {he} was asleep.

cause: the big question
confession: I keep asking myself where the sky stops
answer: It stops where you begin to snore
cure: {Hero} wanted to try that at once, and lay very still, so as to hear it. {He} never heard it, because
  {he} was asleep too soon.

cause: the empty place
confession: My wooden rabbit is not in its place
answer: Then it is waiting for you somewhere and can't sleep either
cure: They took a lantern and found it under the stairs, a little dusty. {Hero} tucked it in, and then there
  were two who slept.

cause: the growing
confession: I am afraid that I will not be any bigger tomorrow
answer: But one grows only in one's sleep. Everyone knows that
cure: "Then I had better begin," said {hero}, and closed {his} eyes so tightly that {he} was asleep in a
  minute.

cause: the birthday
confession: It is my birthday tomorrow, and I want to be there when it comes
answer: It comes in the middle of the night, on stockinged feet, and only if nobody is looking
cure: {Hero} shut {his} eyes so that it would dare to come. And it came, but by then {he} was fast asleep.

cause: the secret plan
confession: I have thought of something wonderful, and I am afraid of forgetting it
answer: Whisper it into the pillow. Pillows forget nothing
cure: {Hero} whispered for quite a while, and the whisper grew slower and slower, and then it stopped.
""")

FIRST_TRIES = read_blocks("""
first: the sheep
failed: {He} counted sheep. The first one jumped over the fence, but the second one wanted to know why.

first: hot milk
failed: {He} drank a cup of hot milk. Now {he} was awake and full of milk.

first: the pillow
failed: {He} turned the pillow over, and then back again, and then over. Both sides were equally awake.

first: the other end
failed: {He} lay down the other way round. Now {his} feet were sleepy, but {his} head was not.

first: hard work
failed: {He} tried very hard to sleep. It was so exhausting that {he} had to sit up and rest.

first: a dull book
failed: {He} read the dullest book in the house. On page nine there was a pirate in it, and then {he} had to
  go on.
""")

SECOND_TRIES = read_blocks("""
second: the owl
advised: "You must stay up all night," said the owl outside. "That is what I do, and I sleep very well by
  day."

second: the cricket
advised: "I always play a tune first," said the cricket behind the stove, and played forty.

second: the bat
advised: "It's no wonder," said the bat, "if you lie on your back. Have you ever tried to hang by your feet?"

second: the clock
advised: "Tick," said the clock, "tock," and it seemed to find the matter quite simple.

second: the cat
never: mouse
advised: The cat showed {him} how to do it. It lay down and slept. It really was no help at all.

second: the moth
advised: "Do you have a lamp?" asked the moth at the window, but that was all the moth ever asked.
""")

SLEEPLESS = Skeleton(
    name="sleepless",
    roles=("elder",),
    tables=(CAUSES, FIRST_TRIES, SECOND_TRIES),
    ending=("hero", "elder"),
    story=read_story("""
* {opening}

* One night {he} could not sleep.
* One evening the moon came up, the stars came out, and everyone {in_land} went to sleep. Everyone but {hero}.
* One night {he} lay in bed and was as wide awake as an owl.

* {failed}
* First of all {he} did what one does. {failed}
---
* {advised}

? "This will never do," said {hero} and climbed out of bed again.
? Midnight came, and {hero} was still awake.
? {Hero} sighed so loudly that a door opened.
---
* There was {his} {elder}, in slippers. "What is the matter?" {elder.he} asked. "{confession}," said {hero}.
* {His} {elder} came in with a lamp and sat down on the bed. "Tell me," {elder.he} said. "{confession}," said
  {hero}.

* {His} {elder} did not laugh. "{answer}," {elder.he} said. {cure}
* "I see," said {his} {elder}. "{answer}." {cure}
---
* {His} {elder} put out the lamp and went back to bed. And then it was {elder.he} who could not sleep.
* {His} {elder} pulled up the blanket and tiptoed out. The moon stayed a little longer, to make sure.
* "Good night, {hero}," whispered {his} {elder}. Nobody answered, and that was the best answer of all.
* In the morning {hero} did not remember how it had ended. But {his} {elder} did, and {elder.he} smiled over
  the porridge.
"""),
)
