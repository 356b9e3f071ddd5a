"""Somebody goes out for berries, loses the way, remembers a piece of advice and comes home."""

from groundup.data.toy_stories.grammar import read_blocks, read_story, read_table
from groundup.data.toy_stories.plot import Skeleton

HARVESTS = read_table("""
harvest           | worlds                          | dish          | gone
blackberries      | wood, hill, farm, village       | a pie         | eaten by the fog
brown mushrooms   | wood, hill                      | a soup        | taken by snails
hazelnuts         | wood, hill, farm                | a cake        | stolen by a very quick squirrel
white shells      | sea                             | a necklace    | called back by the sea
smooth pebbles    | river, sea                      | a garden path | too tired to come along
wild strawberries | wood, farm, village, hill       | jam           | too ripe to wait
soft feathers     | farm, sea, river, snow, village | a pillow      | needed by the wind
red cranberries   | snow, hill                      | a pudding     | shy, and fell out of the basket
willow twigs      | river, farm                     | a chair       | longing to be trees again
sweet chestnuts   | wood, village, farm             | a soup        | still rolling
""")


COVERS = read_blocks("""
cover: fog
nature: fog
came: Then fog crept over the ground, until {he} could not see {his} own feet.

cover: dusk
nature: dark
came: Then the sun went down, and every path looked like every other path.

cover: snow
nature: snow
worlds: snow, hill
came: Then it began to snow, so thickly that the whole world turned white.

cover: rain
nature: rain
worlds: wood, farm, river, village, sea
came: Then the rain came down like a grey curtain.
""")


CLUES = read_blocks("""
clue: the brook
advice: a brook always knows the way down
worlds: hill, wood
takes: fog, dark, snow, rain
sign: Somewhere on the left a brook was chattering.
follow: {Hero} walked beside the brook, down and down, until {he} saw a lantern.

clue: the bell
advice: stand still and use your ears
worlds: village, farm
takes: fog, dark, rain
sign: Far away the evening bell was ringing.
follow: {Hero} walked towards the bell. When it stopped, {he} stopped too, and when it rang again, {he} went
  on. At last {he} saw a lantern.

clue: the smell
advice: follow your nose
worlds: wood, farm, village, river
takes: fog, dark
sign: There was a thin smell of wood smoke and onions.
follow: {Hero} took ten steps and sniffed, and ten more and sniffed again. The smell grew stronger and
  stronger, and then {he} saw a lantern.

clue: the waves
advice: the sea talks all day long, so listen to it
worlds: sea
takes: fog, dark, rain
sign: Down on the left the waves were whispering to the stones.
follow: {Hero} kept the whisper on {his} left side, step by step, until {he} saw a lantern.

clue: the lighthouse
advice: look for the lighthouse
worlds: sea
takes: fog, dark, rain
sign: Every ten seconds a soft beam of light swept over the dunes.
follow: {Hero} walked while it was light and waited while it was dark, until {he} saw a lantern.

clue: the river
advice: a river never gets lost
worlds: river
takes: fog, dark, rain
sign: Not far away the river was humming to itself.
follow: {Hero} found the bank and followed the water round one bend and then another, until {he} saw a
  lantern.

clue: the star
advice: the brightest star stands over our roof
worlds: wood, farm, river, hill, snow, village
takes: dark
sign: And there, between two clouds, was the brightest star of all.
follow: {Hero} walked towards the star without looking left or right, until {he} saw a lantern.

clue: the wind
advice: keep the cold wind on your cheek
worlds: snow, hill
takes: fog, snow
sign: The wind still blew from the north, as it had all day.
follow: {Hero} turned until the wind was on {his} left cheek. So {he} walked on and on, until {he} saw a
  lantern.

clue: the moss
advice: the moss grows on the north side of the trees
worlds: wood
takes: fog, dark, rain
sign: The bark of the nearest tree was soft with moss on one side.
follow: {Hero} felt {his} way from tree to tree, always past the mossy side, until {he} saw a lantern.

clue: the sheep
advice: sheep know when it is time to go home
worlds: hill, farm
takes: fog, dark, snow
sign: Just then a sheep bell tinkled close by.
follow: {Hero} walked behind the last sheep. It did not seem to mind. And then {he} saw a lantern.
""")

WAY_HOME = Skeleton(
    name="way home",
    roles=("elder",),
    tables=(HARVESTS, COVERS, CLUES),
    ending=("harvest", "dish"),
    story=read_story("""
* {opening}

* {Day}, {his} {elder} wanted to make {dish} and needed some {harvest}. "I will get them," said {hero}, and
  {he} took the big basket.
* {Day}, {he} set out with a basket to look for {harvest}, because {his} {elder} wanted to make {dish}.
* "If only I had some {harvest}," said {his} {elder} {day}, "I could make {dish}." {Hero} was out of the door
  before {elder.he} had finished.
---
* {He} found {harvest} here, and more over there, and always a few more a little farther on. {came}
* There were not many {harvest} near the house, so {he} went farther, and then farther still. {came}
* By and by the basket filled with {harvest}. {Hero} did not notice how far {he} had come. {came}

? "Which way is home?" whispered {hero}. Nobody answered.
? {He} turned round once, and then {he} no longer knew which way {he} had come.
? {He} called, but there was no answer. {Sad}.

* {He} wanted to run, but {he} did not. {He} sat down on a stone and breathed in and out ten times. "If you
  are ever lost," {his} {elder} always said, "{advice}."
* All at once {he} remembered what {his} {elder} had told {him}: "If you are lost, do not run. And remember:
  {advice}."
---
* {sign} {follow}
* Then {he} noticed something. {sign} {follow}

* "There you are!" cried {his} {elder}, who had been looking for {him} everywhere.
* Behind the lantern stood {his} {elder}, and {elder.he} hugged {hero} so hard that the basket creaked.
* It was {his} {elder}, with a warm blanket. "I did what you told me," said {hero}.
---
* "Is that all?" asked {his} {elder}, looking into the basket of {harvest}. "The others were {gone}," said
  {hero}.
* At home they made {dish} out of the {harvest}, and {hero} told the whole story twice.
* The {harvest} were enough for {dish}, though only a small one. Nobody {in_land} had ever been so proud of
  {dish}.
* Soon there was {dish}, made from the {harvest} that had been lost and found, just like {hero}.
"""),
)
