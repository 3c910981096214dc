/** Loads configurations in a thread of its own. */
import './features/installed.ts'
import './core/config/load/load-thread.ts'
