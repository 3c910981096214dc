/** Serves clients in a process of its own: what the primary forks. */
import './features/installed.ts'
import './core/runtime/workers/child/worker-main.ts'
