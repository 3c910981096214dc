import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

export const generateSecret = (): string => randomBytes(32).toString('base64url')

/** Slow hashes are for secrets that people think up. These are 256 random bits, and come with each request. */
export const digestSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')

/** Of equal length, so that neither time nor length reveals anything. */
export const constantTimeEqual = (given: string, secret: string): boolean =>
  timingSafeEqual(digestSecret(given), digestSecret(secret))
