import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Makes a secret of 256 random bits, in base64url: the half of a key or the token that its owner keeps. */
export const generateSecret = (): string => randomBytes(32).toString('base64url')

/**
 * Computes what the gateway keeps of a secret, its SHA-256. A slow hash would protect what people think up. These are
 * 256 random bits, and a client sends one with each request.
 */
export const digestSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')

/**
 * Compares two secrets. It compares digests of equal length: neither the time nor the length of the comparison reveals
 * anything.
 */
export const constantTimeEqual = (given: string, secret: string): boolean =>
  timingSafeEqual(digestSecret(given), digestSecret(secret))
