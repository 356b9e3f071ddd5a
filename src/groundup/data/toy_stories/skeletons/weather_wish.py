"""Somebody wishes for one kind of weather, gets another, and finds out what that one is good for."""

from groundup.data.toy_stories.grammar import read_blocks, read_story
from groundup.data.toy_stories.plot import Skeleton

WISHES = read_blocks("""
want: snow
worlds: wood, farm, river, village, hill
purpose: to try out a new sledge
takes: rain, wind, fog, sun

want: wind
purpose: to fly a new kite
takes: rain, snow, fog, sun

want: sunshine
purpose: to have a picnic
takes: rain, snow, fog, wind

want: rain
worlds: wood, farm, river, sea, village, hill
purpose: to wear a pair of new red boots
takes: snow, fog, wind, sun

want: frost
worlds: wood, farm, river, village, hill, snow
purpose: to slide on the pond
takes: rain, fog, wind, sun
""")

WEATHERS = read_blocks("""
got: rain
nature: rain
worlds: wood, farm, river, sea, village, hill
came: It rained instead, first in threads and then in ropes.
game: Then a leaf came floating down the gutter like a little ship. {Hero} ran out, gave it a captain made of
  a berry, and by noon there was a whole fleet.

got: drizzle
nature: rain
worlds: wood, farm, river, sea, village, hill
came: There was nothing but drizzle, and it made no sound at all.
game: Then {he} saw that all the snails had come out. {Hero} painted a starting line, and it was the longest
  race of the year.

got: fog
nature: fog
came: There was only fog, as thick as soup.
game: Then {he} noticed that {he} could not see the fence, nor the path, nor {his} own feet. {Hero} was a
  captain at the end of the world, and every bush was an unknown island.

got: wind
nature: wind
came: But the wind came, and it shook everything that could be shaken.
game: Then the wind took hold of {his} coat. {Hero} spread it out with both arms, and for three steps, maybe
  four, {he} flew.

got: wild wind
nature: wind
came: A wild wind came, and it blew the chairs over.
game: Then {he} heard it sing in the keyhole. {Hero} fetched all the bottles in the house and stood them in a
  row, and the wild wind played a tune on them.

got: snow
nature: snow
worlds: wood, farm, river, village, hill, snow
came: It snowed instead, all night and all morning.
game: Then {he} found tracks in the snow, small ones, with a line in the middle. {Hero} followed them all
  round the house, and they led to {his} own back door, where a mouse was waiting for crumbs.

got: sun
nature: sun
came: But the sun shone, as if it knew nothing else.
game: Then {he} saw how long {his} shadow was. {Hero} made it wave, made it dance and made it as tall as a
  house, and it never got tired.

got: heat
nature: sun
worlds: wood, farm, river, sea, village, hill
came: It grew so hot that even the flies walked.
game: Then {he} put {his} feet into a tub of water, and {he} thought of the sea. {Hero} called it the cold
  south coast and sold tickets to the hens.
""")

WAITS = read_blocks("""
wait: window
waiting: {He} pressed {his} nose against the window and waited.

wait: asking
waiting: "Please," {he} said to the sky every evening, in case it was listening.

wait: dance
waiting: {He} even danced a special dance for it, twice round the table.

wait: counting
waiting: {He} counted the days, and when there were too many of them, {he} began again.

wait: sulking
waiting: {He} would not play anything else and only looked up at the clouds.

wait: packing
waiting: {He} got everything ready and put it beside the door.
""")

WEATHER_WISH = Skeleton(
    name="weather wish",
    roles=(),
    tables=(WISHES, WEATHERS, WAITS),
    ending=("got", "want"),
    traits="[curious/cheerful/lively/dreamy/merry/stubborn/playful/eager]",
    story=read_story("""
* {opening}

* {He} wished for {want}, {purpose}. {waiting}
* All week {he} had been wishing for {want}, because {he} wanted {purpose}. {waiting}
* "If only there were {want}!" said {hero}, who wanted {purpose}. {waiting}

* {came}

? "That is not what I ordered," said {hero}.
? {Sad}.
? "It isn't fair," said {hero} to nobody in particular.
---
* {game}

* In the evening {he} came in with glowing cheeks. {Want}? {He} had forgotten all about it.
* The next day there was {want} at last. "It can wait a little," said {hero}. "I am not finished with {got}
  yet."
* And what do you think {hero} wished for that night? {Got}, and nothing but {got}.
* "I know what the weather is for," said {hero} that night. "{Want} is for wishing, and {got} is for playing."
"""),
)
