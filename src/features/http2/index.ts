import type { Feature } from '../../core/feature.ts'

export const http2: Feature = { name: 'http2', loadListenerPart: () => import('./listener.ts') }
