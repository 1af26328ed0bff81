from minutebook.hosts.python_api import Session as Session

__version__: str
