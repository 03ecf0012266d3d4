"""Topics: what an owner wrote for a character to say, how a line finds it, and which part of it comes next."""

from mud_assistant.assistant.memory.topics.topic_finder import FoundTopics, TopicFinder
from mud_assistant.assistant.memory.topics.topic_index import TopicIndex

__all__ = ["FoundTopics", "TopicFinder", "TopicIndex"]
