/**
 * How many days before its end a certificate is reported. Automatic renewal happens earlier; renewal by hand has two
 * weeks.
 */
export const expiryWarningDays = 14

/** The same in milliseconds. */
export const expiryWarningMs = expiryWarningDays * 24 * 3_600_000
