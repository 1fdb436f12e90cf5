"""The Kafka side of the links: client properties, connections, and the one function that sends.

Only the protocol of kafka-python is used. Its package would import its consumer, producer and admin client, too: 4 MB
and a tenth of a second. So `kafka` is entered here as a package that has not run, and its modules are found in it.
"""

import sys
from importlib.util import find_spec, module_from_spec

if "kafka" not in sys.modules and (_spec := find_spec("kafka")) is not None:
    sys.modules["kafka"] = module_from_spec(_spec)
