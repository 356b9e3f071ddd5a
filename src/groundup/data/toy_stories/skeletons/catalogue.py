"""All skeletons. Their order is part of what a seed means: a new one goes to the end."""

from groundup.data.toy_stories.skeletons.building import BUILDING
from groundup.data.toy_stories.skeletons.cooking import COOKING
from groundup.data.toy_stories.skeletons.cure import CURE
from groundup.data.toy_stories.skeletons.fear import FEAR
from groundup.data.toy_stories.skeletons.garden import GARDEN
from groundup.data.toy_stories.skeletons.gift import GIFT
from groundup.data.toy_stories.skeletons.hide_and_seek import HIDE_AND_SEEK
from groundup.data.toy_stories.skeletons.little_rescue import LITTLE_RESCUE
from groundup.data.toy_stories.skeletons.lost_thing import LOST_THING
from groundup.data.toy_stories.skeletons.mistake import MISTAKE
from groundup.data.toy_stories.skeletons.new_friend import NEW_FRIEND
from groundup.data.toy_stories.skeletons.night_noise import NIGHT_NOISE
from groundup.data.toy_stories.skeletons.odd_one import ODD_ONE
from groundup.data.toy_stories.skeletons.practice import PRACTICE
from groundup.data.toy_stories.skeletons.promise import PROMISE
from groundup.data.toy_stories.skeletons.race import RACE
from groundup.data.toy_stories.skeletons.secret import SECRET
from groundup.data.toy_stories.skeletons.sharing import SHARING
from groundup.data.toy_stories.skeletons.sky_wish import SKY_WISH
from groundup.data.toy_stories.skeletons.sleepless import SLEEPLESS
from groundup.data.toy_stories.skeletons.storm import STORM
from groundup.data.toy_stories.skeletons.stranger import STRANGER
from groundup.data.toy_stories.skeletons.swaps import SWAPS
from groundup.data.toy_stories.skeletons.way_home import WAY_HOME
from groundup.data.toy_stories.skeletons.weather_wish import WEATHER_WISH

SKELETONS = (
    BUILDING,
    COOKING,
    CURE,
    FEAR,
    GARDEN,
    GIFT,
    HIDE_AND_SEEK,
    LITTLE_RESCUE,
    LOST_THING,
    MISTAKE,
    NEW_FRIEND,
    NIGHT_NOISE,
    ODD_ONE,
    PRACTICE,
    PROMISE,
    RACE,
    SECRET,
    SHARING,
    SKY_WISH,
    SLEEPLESS,
    STORM,
    STRANGER,
    SWAPS,
    WAY_HOME,
    WEATHER_WISH,
)
