# libdetent/
pkgconfig_DATA += libdetent/detent.pc
