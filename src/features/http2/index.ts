import type { Feature } from '../../core/feature.ts'

/** Serves clients that choose HTTP/2. */
export const http2: Feature = {
  name: 'http2',
  loadListenerPart: () => import('./listener.ts'),
}
