"""Little children's stories by a grammar of our own: an offline corpus of any size.

About 1.2 million plots (who, where, which wish, obstacle, helper), one in twenty held out, and each plot
in thousands of wordings and with hundreds of names. In reading order: `grammar.py` (the language in
which stories are written), `words.py` (who there is), `skeletons/` (what happens), `plot.py`,
`casting.py`, `telling.py`.

>>> from groundup.data.toy_stories import story
>>> story(0, seed=0, split="train") == story(0, seed=0)
True
"""

from groundup.data.toy_stories.telling import CorpusCounts, Story, stories, story, tell, write_corpus

__all__ = ["CorpusCounts", "Story", "stories", "story", "tell", "write_corpus"]
