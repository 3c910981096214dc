import type { Feature } from '../core/feature.ts'
import { systemd } from './systemd/index.ts'

/** The features of this gateway: to leave one out, take away its line and its folder. */
export const features: readonly Feature[] = [systemd]
