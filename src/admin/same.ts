import { hash, timingSafeEqual } from 'node:crypto'

/** Tells whether two secrets are the same. It compares digests, whose lengths are equal: neither the time nor the length of the comparison tells of them. */
export const isSame = (given: string, secret: string): boolean => timingSafeEqual(digest(given), digest(secret))

const digest = (text: string): Buffer => hash('sha256', text, 'buffer')
