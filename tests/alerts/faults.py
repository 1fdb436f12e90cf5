"""Every fault that an alert is there for, in rounds."""

from typing import Final

from tests.alerts import faults_brokers as brokers
from tests.alerts import faults_clients as clients
from tests.alerts import faults_disks as disks
from tests.alerts import faults_followers as followers
from tests.alerts import faults_history as history
from tests.alerts import faults_process as process
from tests.alerts import faults_quiet as quiet
from tests.alerts import faults_sidecar as sidecar
from tests.alerts import faults_throttles as throttles
from tests.alerts import faults_tiered as tiered
from tests.alerts import faults_worst_day as worst_day
from tests.alerts import matrix
from tests.alerts.fault import Fault, Round, Timed
from tests.alerts.stage import FAST, OFTEN
from tests.support.rules import alerting_rules

QUIET_ROUNDS: Final = (
    Round("nothing", (quiet.quiet,)),
    Round("rolling restart", (quiet.rolling_restart,)),
    Round("unclean election", (brokers.unclean_election,)),
)
"""Those at `quiet.PACE`: no alert may fire but the one of the election."""
TOGETHER: Final = (
    Round("broker killed", (brokers.no_leader, brokers.min_isr, brokers.killed)),
    Round("throttle below inbound", (throttles.below_inbound, throttles.lopsided)),
    Round("throttle blocked", (throttles.blocked, clients.throttled)),
    Round(
        "sidecar configured",
        (sidecar.jmx_port_dead, sidecar.budget_too_small, sidecar.brokers_full, sidecar.cluster_full),
    ),
    Round("remote storage throttled", (tiered.copy_held_back, tiered.fetch_held_back)),
    Round("broker wiped, remote storage fails", (followers.wiped, tiered.remote_fails)),
)
SMALL_ROUNDS: Final = (Round("broker hangs", (followers.hangs,)), Round("follower slow", (followers.slow,)))
"""Those on `followers.SMALL`."""
DISK_ROUNDS: Final = (
    Round("log directory moved", (quiet.log_dir_move,)),
    Round("log directory lost", (disks.log_dir_offline,)),
    Round("ISR flaps", (followers.flaps,)),
    Round("broker removed", (disks.removed,)),
)
"""Those on `disks.TWO_DIRECTORIES`."""
WORST_DAY: Final = (
    Timed(worst_day.brokers_dead, "KafkaClusterUnreachable", within=60, watched=180, pace=OFTEN),
    Timed(worst_day.quorum_lost, "KafkaNoActiveController", within=60, watched=120, pace=OFTEN),
    Timed(worst_day.outrun, "KafkaReassignmentStuck", within=120, watched=150, pace=OFTEN),
    Timed(worst_day.burst, "", within=0, watched=420, pace=OFTEN),
    Timed(worst_day.dead, "KafkaBrokerUnreachable", within=worst_day.WITHIN, watched=840),
    Timed(worst_day.catching_up, "", within=0, watched=720),
    Timed(worst_day.slow_rolling_restart, "", within=0, watched=60),
    Timed(worst_day.failover, "", within=0, watched=30, pace=FAST),
    Timed(worst_day.fenced, "KafkaBrokerUnreachable", within=300, watched=60),
    Timed(worst_day.metadata_stale, "KafkaBrokerUnreachable", within=150, watched=60),
    Timed(worst_day.log_dir_filling, "KafkaLogDirFilling", within=180, watched=60),
    Timed(sidecar.never_up, "KafkaWardenDown", within=720, watched=60),
)
"""Those on `worst_day.QUORUM`, one after the other. Two are watched for longer than a second warning needs."""
ELSEWHERE: Final = [
    *(fault for each in (*QUIET_ROUNDS, *TOGETHER, *SMALL_ROUNDS, *DISK_ROUNDS) for fault in each.faults),
    *(timed.fault for timed in WORST_DAY),
]
ALONE: Final = [
    fault
    for module in (brokers, clients, process, history, sidecar, throttles, tiered)
    for fault in vars(module).values()
    if isinstance(fault, Fault) and fault not in ELSEWHERE
]
ROUNDS: Final = (*TOGETHER, *(Round(fault.name, (fault,)) for fault in ALONE))
"""Those at the usual settings."""
HARMLESS: Final = (
    quiet.quiet,
    quiet.rolling_restart,
    quiet.log_dir_move,
    worst_day.slow_rolling_restart,
    worst_day.failover,
    worst_day.burst,
)
FAULTS: Final = (*ELSEWHERE, *ALONE)


def every_alert() -> list[str]:
    return list(dict.fromkeys(rule["alert"] for rule in alerting_rules()))


def render(record: matrix.Record) -> str:
    """The matrix with all faults and all alerts."""
    return matrix.render(record, [(fault.name, fault.what) for fault in FAULTS], every_alert())
