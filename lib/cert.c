/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/cert.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Seconds of a time of a certificate; 0 if it is malformed. */
static int64_t
asn1_seconds(const ASN1_TIME *t)
{
	struct tm tm;

	return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static FILE *
open_pem(const char *path, struct fail *f)
{
	FILE *file = fopen(path, "re");

	if (file == NULL)
		FAIL(f, E_CONFIG, "%s cannot be read: %s", path, strerror(errno));
	return file;
}

static X509 *
read_certificate(const char *path, struct fail *f)
{
	FILE *file = open_pem(path, f);
	X509 *x = file == NULL ? NULL : PEM_read_X509(file, NULL, NULL, NULL);

	if (file == NULL)
		return NULL;
	fclose(file);
	if (x == NULL)
		FAIL(f, E_CONFIG, "%s holds no certificate in PEM format", path);
	ERR_clear_error();
	return x;
}

/* A key with a passphrase would stop an unattended web server. */
static int
no_passphrase(char *buf, int size, int writing, void *arg)
{
	(void)buf, (void)size, (void)writing, (void)arg;
	return -1;
}

static EVP_PKEY *
read_key(const char *path, struct fail *f)
{
	FILE *file = open_pem(path, f);
	EVP_PKEY *k = file == NULL ?
	                  NULL :
	                  PEM_read_PrivateKey(file, NULL, no_passphrase, NULL);

	if (file == NULL)
		return NULL;
	fclose(file);
	if (k == NULL)
		FAIL(f, E_CONFIG,
		    "%s holds no private key in PEM format without a passphrase", path);
	ERR_clear_error();
	return k;
}

static void
cert_times(const X509 *x, struct cert *c)
{
	*c = (struct cert){ asn1_seconds(X509_get0_notBefore(x)),
		asn1_seconds(X509_get0_notAfter(x)) };
}

enum err
cert_read(const char *certificate, struct cert *c, struct fail *f)
{
	X509 *x = read_certificate(certificate, f);

	if (x == NULL)
		return E_CONFIG;
	cert_times(x, c);
	X509_free(x);
	return OK;
}

enum err
cert_pair_read(const char *certificate, const char *key, struct cert *c, struct fail *f)
{
	X509 *x = read_certificate(certificate, f);
	EVP_PKEY *k = x == NULL ? NULL : read_key(key, f);
	enum err e = OK;

	if (k == NULL) {
		X509_free(x);
		return E_CONFIG;
	}
	cert_times(x, c);
	if (X509_check_private_key(x, k) != 1)
		e = FAIL(
		    f, E_CONFIG, "%s is not the private key of %s", key, certificate);
	ERR_clear_error();
	X509_free(x);
	EVP_PKEY_free(k);
	return e;
}
