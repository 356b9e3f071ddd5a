"""Somebody new is left out until a game is found that is right for them."""

from groundup.data.toy_stories.grammar import read_blocks, read_story, read_table
from groundup.data.toy_stories.plot import Skeleton

NEWCOMERS = read_blocks("""
friend: hedgehog
worlds: wood, farm, river, village
trouble: Nobody wanted to play leapfrog with somebody so prickly.
game: hide-and-seek in the dry leaves
skill: {Friend} rolled up between the leaves and was just one more brown ball. They searched until it was time
  for tea.

friend: turtle
worlds: river, sea
trouble: All the games were running games, and {friend} was too slow for them.
game: a treasure hunt
skill: The others ran past everything. {Friend} walked slowly, looked under every leaf and found four
  treasures out of five.

friend: bear cub
worlds: wood, hill
trouble: {Friend} was too big for all the hiding places and too heavy for the swing.
game: riding through the jungle
skill: {Friend} was the elephant. {Friend.he} carried three of them at a time and trumpeted so well that real
  birds flew up.

friend: mole
worlds: wood, river
trouble: {Friend} blinked in the sun and ran into things, and the others giggled.
game: blind man's buff
skill: With a scarf over the eyes, everybody stumbled about. Only {friend} caught one after another, by the
  sound of their breath.

friend: frog
worlds: river
trouble: {Friend} was wet all over, and nobody wanted to hold hands with {friend.him} in the ring.
game: puddle jumping
skill: {Friend} jumped over the longest puddle, and then right into the middle of it. Soon they were all wet,
  and nobody minded.

friend: mouse
worlds: wood, farm, village
trouble: {Friend} was so small that the others were afraid of stepping on {friend.him}.
game: pirates
skill: {Friend} was the captain, because {friend.he} fitted into the crow's nest. "Land ahoy!" {friend.he}
  squeaked, and everyone obeyed.

friend: kitten
worlds: farm, village, sea
trouble: {Friend} did not speak when anybody said hello. {Friend.he} only looked at the ground.
game: a play without words
skill: {Friend} showed a storm, a fish and a king with a toothache, all without a word. They clapped until it
  hurt.

friend: goat
worlds: hill
trouble: {Friend} butted everybody who came near, because {friend.he} did not know how else to say hello.
game: building a tower
skill: {Friend} butted the stones into place, one after another, and it was the straightest tower {in_land}.

friend: donkey
worlds: farm, village, sea
trouble: {Friend} laughed so loudly that the others covered their ears.
game: a concert
skill: There were drums and whistles, but it was {friend}'s great hee-haw at the end that people remembered.

friend: seal
worlds: sea, snow
trouble: {Friend} was so clumsy on dry land that {friend.he} fell over {friend.his} own flippers.
game: a ball game in the shallow water
skill: {Friend} caught every ball, even the high ones, and balanced them on the tip of {friend.his} nose.

friend: reindeer
worlds: snow
trouble: {Friend} had long legs and a long face, and everyone thought that {friend.he} was proud.
game: a sledge ride
skill: {Friend} pulled the sledge with all of them on it, so fast that the snow sang.

friend: penguin
worlds: snow
trouble: {Friend} bowed instead of saying hello, and the others thought it was very odd.
game: kings and queens
skill: Nobody could bow as well as {friend}. {Friend.he} taught them all, and they bowed until their backs
  ached.

friend: child
trouble: {Friend} came from a faraway country and did not know their words yet.
game: drawing in the sand
skill: {Friend} drew a ship, a palm tree and a very funny camel. "Camel," said {hero}. "Camel," said {friend},
  and taught {hero} the word for it in return.

friend: duckling
worlds: farm, river, village
trouble: {Friend} walked with such a waddle that the others walked behind {friend.him} and copied it.
game: follow my leader
skill: {Friend} led the way, over the bridge and twice round the well, and one after another they all waddled
  behind, on purpose this time.

friend: badger
worlds: wood, hill
trouble: {Friend} slept all day, and when {friend.he} woke up, the others had to go home.
game: counting the stars
skill: {Friend} knew them all by name, and showed them one that was shaped like a nose.
""")


CORNERS = read_table("""
corner | lonely
log    | sat all alone on a log and watched the others play
fence  | stayed behind the fence and pretended to be busy
wall   | leaned against a wall and counted the ants
stairs | sat on the lowest stair and talked to a stick
pond   | threw pebbles into a puddle, one after another
swing  | hummed a little song that only the wind could hear
""")

WELCOMES = read_blocks("""
welcome: cookies
hello: {Hero} put two ginger biscuits into {his} pocket and went over. "One is for you," {he} said.

welcome: a smile
hello: {Hero} went over and sat down, not too near and not too far. Then {he} smiled.

welcome: a name
hello: {Hero} went straight up to {friend.him}. "I am {hero}," {he} said. "And who are you?"

welcome: a flower
hello: {Hero} picked a daisy and held it out. "Welcome," {he} said.

welcome: a joke
hello: {Hero} went over and told {friend.him} {his} only joke. It was a bad one, but {friend} laughed.
""")

NEW_FRIEND = Skeleton(
    name="new friend",
    roles=("friend",),
    tables=(NEWCOMERS, CORNERS, WELCOMES),
    ending=("friend",),
    traits="[curious/cheerful/lively/gentle/dreamy/clever/merry/friendly/thoughtful/kind]",
    story=read_story("""
* {opening}

* {Day}, somebody new moved in: {a_friend.kind} named {friend}.
* {Day}, there was a new face {in_land}. It belonged to {a_friend.kind} named {friend}.
* Then a new family came to live {in_land}, and with them came {a_friend.kind} called {friend}.

* {trouble} So {friend} {lonely}.
* But nobody played with {friend}. {trouble} So {friend.he} {lonely}.
---
? {Hero} saw it, and it did not seem right to {him}.
? {Hero} remembered how it feels to be alone.
? "I would not like to be {friend} today," thought {hero}.

* {hello} {Friend} looked up, and for the first time {friend.he} looked happy.
* {hello} And the two of them began to talk, a little at first and then a lot.

* "What can we play that is right for {friend}?" {hero} asked {himself}, and {he} thought hard. "I know!
  {Game}!"
* "Let us try something new," {hero} said to the others. "How about {game}?"
* Then {hero} had an idea. "Today we will play something else," {he} called. "{Game}!"
---
* {skill}

? "Again!" shouted the others. "Again, {friend}, again!"
? "Why did we never play that before?" asked the others. "Because {friend} was not here," said {hero}.
? "You are really good at this," said the others, and {friend} {friend.glad}.
---
* From then on nobody {in_land} played without {friend}.
* That evening {hero} and {friend} walked home together, and it turned out that they lived only a few steps
  apart. It had just seemed far.
* {Friend} was not new any more. {Friend.he} was a friend, and that is something else.
* "Thank you," said {friend}, when the sun went down. "What for?" asked {hero}. "I only found somebody to play
  with."
* And {hero} and {friend} are friends to this day, and they share every biscuit, exactly in half.
"""),
)
