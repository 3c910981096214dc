/** Runs before each file of tests: installs the features, as src/main.ts does. */
import '../../src/features/installed.ts'
