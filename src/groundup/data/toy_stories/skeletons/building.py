"""Something is built and falls apart; the reason is found, and the second one holds."""

from groundup.data.toy_stories.grammar import read_blocks, read_story, read_table
from groundup.data.toy_stories.plot import Skeleton

PROJECTS = read_blocks("""
thing: raft
worlds: river, sea
purpose: to sail to the island with the tall pine
first: {He} laid six logs side by side and tied them together with grass.
fail: In the middle of the water the grass tore, and every log swam off in a different direction. {Hero} came
  home dripping.
reason: Grass is for cows. What ties a log must be stronger than a log
second: This time {he} tied the logs with good, thick rope, and {he} pulled every knot three times.
triumph: The raft rocked and dipped and did not come apart, and {he} had a picnic on the island.

thing: tree house
worlds: wood, farm, village
purpose: to be as high up as the birds
first: {He} nailed some boards to the thinnest branches, because the view was best up there.
fail: Then the wind blew, the branches swayed, and the boards came down like ripe pears.
reason: A house wants to stand on something that does not dance
second: This time {he} built lower down, where the branches are as thick as barrels.
triumph: The wind blew all night, and the tree house only creaked a little, like a ship at anchor.

thing: snow house
worlds: snow, hill
purpose: to sleep under the stars without being cold
first: {He} took soft new snow and piled it up into walls.
fail: As soon as {he} put the roof on, the walls went soft and sat down on {his} head.
reason: Powder makes a fine pillow and a very bad wall
second: This time {he} cut firm blocks out of the hard old snow and set them in a ring, each a little farther
  in.
triumph: It was so warm inside that {he} had to take off {his} scarf.

thing: bridge
worlds: river, wood, farm, village, hill
purpose: to cross the brook with dry feet
first: {He} laid one long, thin board from bank to bank.
fail: In the middle the board bent and bent and then said crack. {Hero} said a word that the fish had never
  heard.
reason: One board alone is weak, but three are as strong as ten
second: This time {he} laid three boards side by side, with a big flat stone under the middle.
triumph: {He} walked across, then jumped across, and then invited a cow to try it as well.

thing: sandcastle
worlds: sea
purpose: to be a king for one afternoon
first: {He} built it close to the water, because the sand was so smooth there.
fail: Then the tide came in. The first wave took the gate, the second took the tower, and the third took the
  king's hat.
reason: Ask the sea how far it will come, before you build
second: This time {he} looked for the line of seaweed, built above it and dug a deep moat.
triumph: The tide came in and went once round the moat, very politely, and left again.

thing: kite
worlds: hill, farm, sea, village, snow
purpose: to send a letter to the clouds
first: {He} made it of thick sticks and a flour sack.
fail: {He} ran and ran, and the kite came along behind {him}, on the ground, like a lazy dog.
reason: The wind is strong, but it does not like to carry potatoes
second: This time {he} took the thinnest sticks, the lightest paper and a long, fluttering tail.
triumph: Up it went, higher than the swallows, and {he} let the letter climb up along the string.

thing: cart
worlds: farm, village, hill
purpose: to ride down the long lane
first: {He} cut four wheels out of a board. They were square, because square ones are easier to cut.
fail: The cart went bump, bump, bump, and after four bumps it stood still, and so did {hero}'s teeth.
reason: A wheel must not have a favourite side
second: This time {he} drew a circle with a string and a nail, and cut along it, round and round.
triumph: The cart rolled all the way down the lane, and a hen came along for the ride.

thing: bench
purpose: to sit in the evening sun
first: {He} sawed off four legs, each by eye.
fail: One leg was too long, so {he} made it shorter, and then it was too short. In the end {he} was sitting on
  the ground.
reason: An eye is good for looking, but a string is better for measuring
second: This time {he} measured with a string, and all four legs were as long as the string.
triumph: It stood as firm as a cow, and there was room on it for three.

thing: birdhouse
worlds: wood, farm, village, river
purpose: to have a neighbour who sings
first: {He} built it with a big, grand door at the front.
fail: In came the rain, in came the wind, and in came a cross old cat. No bird came at all.
reason: A small guest likes a small door
second: This time {he} made a door no bigger than a walnut and turned it away from the wind.
triumph: By the end of the week a wren had moved in and sang before breakfast, a little too early.

thing: tower of stones
worlds: river, sea, hill, wood
purpose: to see over the top of everything
first: {He} piled up the roundest, prettiest stones.
fail: At the ninth stone the tower thought about it, leaned over and lay down.
reason: Round stones want to roll, and flat ones want to rest
second: This time {he} chose flat stones, big ones at the bottom and small ones at the top.
triumph: It grew as high as {his} nose, and then as high as {he} could reach, and it did not even wobble.

thing: windmill
worlds: farm, hill, sea, village
purpose: to grind some flour for a birthday cake
first: {He} cut four sails and nailed them on, all quite flat.
fail: The wind blew as hard as it could, but the sails did not turn, not even a little.
reason: The wind has to slide off to one side, or it can't push
second: This time {he} turned each sail a little, like a leaf that wants to fall.
triumph: Whoosh, went the sails, round and round, and there was flour on {his} nose.
""")

ADVISERS = read_table("""
came            | adviser
over the fence  | {His} {elder} had been looking on over the fence.
with a sandwich | {His} {elder} came out with a sandwich and looked at what was left.
with a smile    | {His} {elder} had seen it all and tried hard not to smile.
without a word  | {His} {elder} helped {him} up without a word. They sat for a while and looked at the sky.
with a pencil   | {His} {elder} came along with a pencil behind one ear.
""")

BUILDING = Skeleton(
    name="building",
    roles=("elder",),
    tables=(PROJECTS, ADVISERS),
    ending=("thing",),
    traits="[curious/cheerful/lively/busy/clever/merry/stubborn/eager/bold]",
    story=read_story("""
* {opening}

* {Day}, {he} decided to build {a_thing} {purpose}.
* {He} had one great wish. {He} wanted {a_thing} {purpose}.
* "I am going to build {a_thing}," {he} said {day}. "I need it {purpose}."
---
* {first} {fail}
* {first} "Finished!" {he} cried. {fail}
* {first} {He} was quite sure that it would hold. {fail}

? "I will never build anything again," said {hero}.
? {Sad}. "I am no good at building," {he} said.
? "Silly {thing}!" shouted {hero}, and then {he} had to laugh a little.
---
* {adviser} "{reason}," {elder.he} said.
* {adviser} "Do you want to know what I think?" {elder.he} asked. "{reason}."

* {Hero} thought it over for the whole evening, and the next day {he} began again. {second}
* {Hero} frowned, and then {he} laughed. "So that is it!" {second}
* "Of course!" cried {hero}. {second}
---
* {triumph} "That is a good {thing}," said {his} {elder}. "It is the second one," said {hero}. "You need the
  first one to build the second one."
* {triumph} And {hero} {glad}, for this was a real {thing}, and it was {his} own.
* {triumph} But {hero} still tells everyone about the first {thing}. {He} is proud of that one, too.
* {triumph} If your own {thing} ever falls to pieces, think of {hero}, and look for the reason.
"""),
)
