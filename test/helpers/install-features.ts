/** Runs before each file of tests: installs the features, as src/run.ts does. */
import '../../src/features/installed.ts'
