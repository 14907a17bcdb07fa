// Makes every fsync and fdatasync of the program it is preloaded to take a
// millisecond longer: cc -O2 -shared -fPIC slowsync.c -o slowsync.so -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

static int slowly(const char *name, int fd) {
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
	usleep(1000);
	return real(fd);
}

int fdatasync(int fd) { return slowly("fdatasync", fd); }
int fsync(int fd) { return slowly("fsync", fd); }
