"""Little children's stories by a grammar of our own: an offline corpus of any size.

>>> from groundup.data.toy_stories import story
>>> story(0, seed=0) == story(0, seed=0)
True
"""

from groundup.data.toy_stories.telling import CorpusCounts, Story, stories, story, tell, write_corpus

__all__ = ["CorpusCounts", "Story", "stories", "story", "tell", "write_corpus"]
