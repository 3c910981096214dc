import './tracing.test.ts'
