"""A treasure is lost, found out of reach, and brought back by a helper who can do what the hero cannot."""

from groundup.data.toy_stories.grammar import read_blocks, read_story, read_table
from groundup.data.toy_stories.plot import Skeleton

TREASURES = read_table("""
thing          | nature               | dear
red kite       | light                | When the wind was strong, it pulled like a pony.
blue scarf     | light, plain         | It was as long as two beds and as warm as toast.
straw hat      | light                | It had a yellow ribbon and smelled of summer.
paper lantern  | light                | At night it glowed like a small, friendly moon.
green umbrella | light, plain         | Under it, the rain sounded like a song.
leather ball   | rolls, floats, plain | It bounced higher than any other ball {in_land}.
glass marble   | round, shiny         | When the sun shone through it, a whole rainbow sat inside.
wooden top     | round, plain         | It could spin for as long as {he} held {his} breath.
silver whistle | shiny, plain         | One breath, and everyone {in_land} knew that {hero} was near.
little bell    | shiny, round         | It rang as clear as cold water.
brass button   | shiny, round         | {He} polished it every Sunday until it looked like gold.
golden key     | shiny                | It did not open anything yet, but one day it might.
tin drum       | rolls, plain         | It made enough noise for a whole parade.
toy boat       | floats, plain        | It had a real sail, a real rudder and a captain made of cork.
wooden horse   | plain                | It had only three legs, and {he} loved it all the more for that.
music box      | plain                | It knew only one tune, but it was the right one.
""")


SPOTS = read_blocks("""
where: at the very top of the tallest tree
takes: light
worlds: wood, farm, river, village, hill
needs: climb
cause: The wind had carried it up there.
problem: Even the lowest branch was far above {his} head.
rescue: {Helper} ran up the trunk, freed the {thing} from the twigs and let it sail down.

where: on the steep roof of the mill
takes: light
worlds: farm, river, village, hill
needs: fly
cause: A gust of wind had blown it there.
problem: The walls were high and smooth, and nobody had a ladder.
rescue: {Helper} flew up in a wide circle and came back with the {thing} in {helper.his} beak.

where: on a narrow ledge of the cliff
takes: light
worlds: sea, snow, hill
needs: fly
cause: The wind had dropped it there.
problem: The rock was steep and as slippery as soap.
rescue: {Helper} spread {helper.his} wings, sailed up to the ledge and brought the {thing} down.

where: in a magpie's nest
takes: shiny
worlds: wood, farm, village, river, hill
needs: fly
cause: The magpie had taken it, for magpies love all things that shine.
problem: The nest was high up in a thorny tree.
rescue: {Helper} flew up and talked to the magpie for a long time. In the end the magpie gave back the {thing}
  and took a bottle top instead.

where: deep inside a hollow log
takes: round
worlds: wood, hill, farm, river
needs: tiny
cause: It must have rolled in at the open end.
problem: The hole was much too narrow for {him}.
rescue: {Helper} slipped inside. There was a scratch and a sneeze, and out rolled the {thing}, with {helper}
  close behind it.

where: in the middle of a thorn hedge
takes: rolls, round
worlds: farm, village, hill, wood
needs: tiny
cause: It must have rolled down the slope.
problem: The thorns were long and sharp, and they let nobody through.
rescue: {Helper} crept in between the thorns and pushed and pushed, until the {thing} popped out on the other
  side.

where: at the end of an old tunnel
takes: round
worlds: wood, farm, hill, river
needs: dig
cause: It had rolled down a hole in the ground.
problem: Earth had fallen in and blocked the way.
rescue: {Helper} dug so fast that the earth flew up like rain. Soon {helper.he} came out backwards, with the
  {thing}.

where: on the bottom of the pond
takes: shiny
worlds: wood, farm, village, hill
needs: swim
cause: It must have fallen in while {he} was looking at {his} own face in the water.
problem: The water was deep, and {hero} could not swim.
rescue: {Helper} dived with hardly a splash and came up with the {thing}.

where: on a tiny island in the river
takes: light, floats
worlds: river, village, farm
needs: swim
cause: The river had carried it there.
problem: The water ran fast, and {hero} could not swim.
rescue: {Helper} swam across with strong, even strokes and pushed the {thing} back to the bank.

where: on a rock far out in the waves
takes: light, floats
worlds: sea
needs: swim
cause: The tide had carried it out.
problem: The waves were high, and {hero} could not swim.
rescue: {Helper} swam out between two waves and came back on the third, with the {thing}.

where: half buried in the wet sand
takes: plain, shiny
worlds: sea
needs: dig
cause: The tide had pulled it down.
problem: The harder {he} tugged, the deeper it sank.
rescue: {Helper} dug all round it, as quick as a wheel, until the {thing} came loose.

where: in a crack between two rocks
takes: round, shiny
worlds: sea, hill, snow
needs: tiny
cause: It had slipped in there.
problem: The crack was too narrow for {him}.
rescue: {Helper} slipped in sideways. A moment later the {thing} came out, and {helper} came after it.

where: under a hard heap of snow
takes: plain, light
worlds: snow
needs: dig
cause: The snow had slid down from the rocks in the night.
problem: Only a small piece of it showed, and the snow was as hard as stone.
rescue: {Helper} dug until the snow flew left and right, and there was the {thing}.

where: under a fallen tree
takes: plain
worlds: wood, river, hill, village, snow
needs: strong
cause: The wind had knocked the tree down in the night.
problem: The trunk was as heavy as a house.
rescue: {Helper} leaned against the trunk and pushed. It groaned, it rolled, and the {thing} was free.

where: under the old boathouse door
takes: plain
worlds: sea, river
needs: strong
cause: The wind had torn the door from its hinges.
problem: The door was as heavy as a ship.
rescue: {Helper} lifted the door as if it were a slice of bread, and the {thing} was free.

where: under the old barn door
takes: plain
worlds: farm, village
needs: strong
cause: The wind had torn the door from its hinges.
problem: The door was too heavy to lift.
rescue: {Helper} lifted the door as if it were a pancake, and the {thing} was free.
""")

LOST_THING = Skeleton(
    name="lost thing",
    roles=("helper",),
    tables=(TREASURES, SPOTS),
    ending=("thing",),
    story=read_story("""
* {opening}

* Of all {his} things, {he} loved {his} {thing} the most. {dear}
* {His} greatest treasure was {a_thing}. {dear}
* {He} did not own much, but {he} did own {a_thing}. {dear}
* For {his} birthday {he} had been given {a_thing}. {dear}
* Wherever {he} went, {his} {thing} went too. {dear}

* {Morning}, the {thing} was gone. {Sad}.
* But {morning}, the {thing} was not in its place. {Sad}.
* Then came a morning when {he} could not find the {thing} anywhere. {Sad}.
---
? {He} looked under the bed, behind the door and even inside the teapot. There was no {thing}.
? {He} searched high and low, and then low and high, but there was no {thing}.
? "Have you seen my {thing}?" {he} asked everyone {in_land}. Nobody had.
? {He} shook out every blanket and found a great deal of dust, but no {thing}.
? "Think," {he} told {himself}. "Where did I have it last?" And {he} went back the way {he} had come, step by
  step.

* At last {he} saw it. The {thing} was {where}! {cause} {problem}
* {He} had almost given up when {he} saw the {thing}, {where}. {cause} {problem}
* At last {he} went outside to look, and there it was, {where}. {cause} {problem}

? "So near, and yet so far," sighed {hero}.
? {Hero} tried three times, but it was no use.
? "What shall I do now?" said {hero}.
? "I will never get it back," whispered {hero}.
---
* Just then {a_helper.kind} named {helper} came by. "Why do you look so sad?" asked {helper}, and {hero} told
  {helper.him} everything.
* {Helper} the {helper.kind} had been watching. "That looks like a job for me," {helper.he} said.
* {Hero} did not like to ask, but then {he} did. "Please help me," {he} called to {helper} the {helper.kind}.
  "I thought you would never ask," {helper.he} said.

* {rescue}

? "Thank you!" cried {hero}, and {he} {glad}.
? "How can I thank you?" asked {hero}. "Tell me a story one day," said {helper}, "with {a_thing} in it."
? "Here you are," said {helper}. {Hero} was so happy that {he} {glad}.
---
* That night the {thing} lay next to {hero}'s pillow, and both of them slept very well.
* From then on {hero} put the {thing} back in its place every evening. And when {he} could not do something
  alone, {he} asked.
* {Hero} carried the {thing} home. {He} had lost one treasure that day, and now {he} had two: {his} {thing}
  and a new friend.
* Since that day {hero} has known that it is no shame to ask for help. The {thing} would tell you the same, if
  it could talk.
* On the way home {he} held the {thing} very tight, and {he} decided that a helper like {helper} was worth
  even more.
"""),
)
