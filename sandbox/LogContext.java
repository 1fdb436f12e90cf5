package org.apache.kafka.common.utils;

/** The name that this class had up to Kafka 4.3, and by which LocalTieredStorage of the test jar of 4.3.1 knows it. */
public class LogContext extends org.apache.kafka.common.utils.internals.LogContext {
    public LogContext(String prefix) {
        super(prefix);
    }
}
