package transfer_test

import "os"

// soak says that there is time for long runs.
func soak() bool { return os.Getenv("ASSENT_SOAK") != "" }
