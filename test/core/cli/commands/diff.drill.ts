import './diff.test.ts'
