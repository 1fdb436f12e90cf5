package warden;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.KeyStoreException;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** An SSLContext from PEM files: no key store, no password, nothing on a command line. */
public final class PemTls {
    private static final Pattern KEY =
        Pattern.compile("-----BEGIN PRIVATE KEY-----(.+?)-----END PRIVATE KEY-----", Pattern.DOTALL);

    private final String caFile;
    private final String certFile;
    private final String keyFile;
    private List<Object> stamp;
    private SSLContext context;

    /** `certFile` and `keyFile` are null without a client certificate. */
    public PemTls(String caFile, String certFile, String keyFile) {
        this.caFile = caFile;
        this.certFile = certFile;
        this.keyFile = keyFile;
    }

    /** The context, made again when one of the files has changed. */
    public synchronized SSLContext context() throws GeneralSecurityException, IOException {
        List<Object> now = new ArrayList<>();
        for (String file : new String[] {caFile, certFile, keyFile}) {
            now.add(file == null ? null : stamp(Path.of(file)));
        }
        if (context == null || !now.equals(stamp)) {
            context = make();
            stamp = now;
        }
        return context;
    }

    private SSLContext make() throws GeneralSecurityException, IOException {
        KeyStore trust = emptyStore();
        for (Certificate certificate : certificates(caFile)) {
            trust.setCertificateEntry("ca-" + trust.size(), certificate);
        }
        TrustManagerFactory trusted = TrustManagerFactory.getInstance("PKIX");
        trusted.init(trust);
        KeyManager[] managers = null;
        if (certFile != null && keyFile != null) {
            KeyStore own = emptyStore();
            own.setKeyEntry("own", privateKey(), new char[0], certificates(certFile));
            KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
            keys.init(own, new char[0]);
            managers = keys.getKeyManagers();
        }
        SSLContext made = SSLContext.getInstance("TLS");
        made.init(managers, trusted.getTrustManagers(), null);
        return made;
    }

    private PrivateKey privateKey() throws GeneralSecurityException {
        Matcher found = KEY.matcher(new String(read(keyFile), StandardCharsets.ISO_8859_1));
        if (!found.find()) {
            throw new InvalidKeySpecException(
                keyFile + " holds no unencrypted PKCS #8 key: convert it with openssl pkcs8 -topk8 -nocrypt");
        }
        PKCS8EncodedKeySpec spec = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(found.group(1)));
        for (String algorithm : new String[] {"RSA", "EC", "Ed25519"}) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(spec);
            } catch (GeneralSecurityException other) {
                continue; // a key of another algorithm, or a JDK before 15 without Ed25519
            }
        }
        throw new InvalidKeySpecException(keyFile + " is neither an RSA, an EC nor an Ed25519 key");
    }

    private static KeyStore emptyStore() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private static Certificate[] certificates(String file) throws GeneralSecurityException {
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        return factory.generateCertificates(new ByteArrayInputStream(read(file))).toArray(new Certificate[0]);
    }

    private static byte[] read(String file) throws KeyStoreException {
        try {
            return Files.readAllBytes(Path.of(file));
        } catch (IOException error) {
            throw new KeyStoreException("cannot read " + file + ": " + error.getClass().getSimpleName(), error);
        }
    }

    private static List<Object> stamp(Path file) {
        try {
            BasicFileAttributes found = Files.readAttributes(file, BasicFileAttributes.class);
            return List.of(String.valueOf(found.fileKey()), found.size(), found.lastModifiedTime());
        } catch (IOException error) {
            return List.of();
        }
    }
}
