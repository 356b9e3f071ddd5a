"""Somebody cooks for an elder, it goes wrong, and it turns out to be good for something."""

from groundup.data.toy_stories.grammar import read_blocks, read_story, read_table
from groundup.data.toy_stories.plot import Skeleton

DISHES = read_blocks("""
dish: pancakes
first: {He} mixed flour and milk and made a big pancake. Then {he} tossed it up, and it did not come down
  again. It was stuck to the ceiling.
rescue: They waited below it with their plates. At noon it fell, and they both got half

dish: tomato soup
first: {He} cut up ten tomatoes and wanted to add a little pepper. The lid fell off, and all the pepper went
  in.
rescue: They called it dragon soup, ate it with a lot of bread, and neither of them was cold all day

dish: porridge
first: {He} put the whole bag of oats into the pot. The porridge rose and rose, and then it walked over the
  edge and across the floor.
rescue: They opened the door and called the neighbours, and everyone came with a spoon

dish: a birthday cake
first: {He} beat the eggs, stirred in the flour and waited. But {he} had forgotten to light the oven.
rescue: They ate it out of the bowl with two spoons, and it was the best cake that was never baked

dish: bread
first: {He} thought that more yeast would be better. The dough lifted the lid, then the towel, and then it
  leaned out of the window.
rescue: They cut it with a saw, and there was bread until Saturday

dish: apple jelly
first: {He} boiled the apples for an hour, but the jelly would not get firm. It only sloshed.
rescue: They poured it into glasses and drank a toast to apples

dish: toast
first: {He} looked out of the window for a moment too long, and then it was black, all but one spot in the
  middle.
rescue: The spot had the shape of a heart, so they hung it on the wall and had plums instead

dish: carrot stew
first: {He} took the sugar for the salt, four spoons of it, and a fifth because it needed something.
rescue: They baked it in a tin, put nuts on it, and it was the first carrot cake {in_land}

dish: dumplings
first: {He} rolled them so firmly that they came out of the pot as hard as marbles.
rescue: They played marbles with them until it was dark, and {his} {elder} won

dish: noodles
first: {He} wanted to make one single noodle, as long as the house. It got away and wound itself round the
  table legs.
rescue: They each began at one end and met in the middle, under the table
""")

REASONS = read_table("""
reason   | because
tired    | {His} {elder} was tired from work.
cold     | {His} {elder} had a cold and lay on the sofa.
sunday   | It was Sunday, and {his} {elder} was still asleep.
birthday | It was {his} {elder}'s birthday.
thanks   | {He} wanted to say thank you to {his} {elder}, for everything.
sorry    | {He} had been grumpy all day, and now {he} was sorry.
""")

COOKING = Skeleton(
    name="cooking",
    roles=("elder",),
    tables=(DISHES, REASONS),
    ending=("dish", "rescue"),
    traits="[curious/cheerful/lively/dreamy/busy/merry/friendly/eager/bold]",
    story=read_story("""
* {opening}

* {because} "Today I will do the cooking," said {hero}, "and there will be {dish}."
* {because} So {hero} put on the big apron and began to make {dish} for {his} {elder}.
* {because} "You sit still, and I will make {dish}," {he} told {his} {elder}.

* {first}
---
? {Hero} looked at it. This was not in the recipe.
? "Oh dear," said {hero}.
? {Sad}.

* Then {his} {elder} came in, looked, and began to laugh. {rescue}.
* {His} {elder} came in and looked at it from all sides. "I have an idea," {elder.he} said. {rescue}.

? "Tomorrow I will cook again," said {hero}. "I was afraid of that," said {his} {elder}, and winked.
? "That was the best supper for years," said {his} {elder}. "Where did you learn it?" "Just now," said {hero}.
? And ever since, that is how {hero} makes {dish}, on purpose.
"""),
)
