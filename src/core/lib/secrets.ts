import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Returns 256 random bits in base64url. */
export const generateSecret = (): string => randomBytes(32).toString('base64url')

/**
 * The gateway keeps this SHA-256. A slow hash is for secrets that people think up; these are 256 random bits, and a
 * client sends them with each request.
 */
export const digestSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')

/** Compares digests of equal length, so that neither time nor length reveals anything. */
export const constantTimeEqual = (given: string, secret: string): boolean =>
  timingSafeEqual(digestSecret(given), digestSecret(secret))
