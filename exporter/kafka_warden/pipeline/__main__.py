"""The program for `spark-submit`: the same jobs and flags as `kafka-warden pipeline`."""

import sys

from kafka_warden.cli import main

if __name__ == "__main__":
    sys.exit(main(["pipeline", *sys.argv[1:]]))
