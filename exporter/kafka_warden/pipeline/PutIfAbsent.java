package kafka_warden;

import software.amazon.awssdk.core.SdkRequest;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.services.s3.model.CompleteMultipartUploadRequest;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;

/**
 * Lets S3 refuse to replace an entry of a Delta log (If-None-Match: *), so that of two drivers one commits a version.
 * S3A loads it by fs.s3a.audit.execution.interceptors. Delta's own log store only asks before whether the entry exists.
 */
public final class PutIfAbsent implements ExecutionInterceptor {
    private static boolean isEntry(String key) {
        return key.matches("(.*/)?_delta_log/[0-9]{20}[.]json");
    }

    public SdkRequest modifyRequest(Context.ModifyRequest context, ExecutionAttributes attributes) {
        SdkRequest request = context.request();
        if (request instanceof PutObjectRequest) {
            PutObjectRequest put = (PutObjectRequest) request;
            return isEntry(put.key()) ? (SdkRequest) put.toBuilder().ifNoneMatch("*").build() : request;
        }
        if (request instanceof CompleteMultipartUploadRequest) {
            CompleteMultipartUploadRequest put = (CompleteMultipartUploadRequest) request;
            return isEntry(put.key()) ? (SdkRequest) put.toBuilder().ifNoneMatch("*").build() : request;
        }
        return request;
    }
}
